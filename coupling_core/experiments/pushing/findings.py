"""Paired differences between the runs, and the pages `docs/pushing.md` and `pushing-vision.md`.

python -m coupling_core.experiments.pushing.findings

What is tested, and what is called a difference, was planned in `docs/preregistration.md` and
`docs/preregistration-vision.md`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.scores import LEVEL, Interval, mean_interval, p_words
from coupling_core.base.units import rounded
from coupling_core.experiments.pushing.plans import CONTROL, SEEDS, STUDIES, Study
from coupling_core.experiments.pushing.runs import Outcomes, read_run

DOCS = Path(__file__).parents[3] / "docs"
PUSHED = ("raise", "lower")
TOO_SMALL = 0.02
"""Nats: a difference in loss whose interval lies within it does not matter."""

Runs = Mapping[str, Mapping[int, Sequence[Outcomes]]]
"""What was measured, by arm and seed, by rising step."""


@dataclass(frozen=True)
class Difference:
    """An arm less the control, over the seeds that both have.

    Args:
        arm: its name.
        outcome: of `Outcomes`.
        interval: of the mean difference, by Student's t.
        p: two-sided, of the paired t test.
        adjusted: the same after Holm's method over all that are tested together.
    """

    arm: str
    outcome: str
    interval: Interval
    p: float
    adjusted: float = np.nan

    @property
    def is_shown(self) -> bool:
        """Whether it is called a difference."""
        return self.adjusted < LEVEL

    @property
    def is_small(self) -> bool:
        """Whether it is one in loss that is too small to matter, whatever it is."""
        near = -TOO_SMALL < self.interval.low and self.interval.high < TOO_SMALL
        return self.outcome == "loss" and near


def read_runs(study: Study) -> Runs:
    """All runs that have ended."""
    found = {arm.name: {seed: read_run(study, arm, seed) for seed in SEEDS} for arm in study.arms}
    return {arm: {seed: run for seed, run in of.items() if run} for arm, of in found.items()}


def difference(runs: Runs, arm: str, outcome: str, than: str = CONTROL) -> Difference:
    """How an arm differs from another after the last step, seed by seed."""
    seeds = sorted(runs[arm].keys() & runs[than].keys())
    values = last(runs, arm, outcome, seeds) - last(runs, than, outcome, seeds)
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    return Difference(arm, outcome, mean_interval(values), p)


def last(
    runs: Runs, arm: str, outcome: str, seeds: Sequence[int] | None = None
) -> Float[np.ndarray, " seed"]:
    """A number of every run of an arm after its last step."""
    return np.array([getattr(runs[arm][seed][-1], outcome) for seed in seeds or sorted(runs[arm])])


def holm(found: Sequence[Difference]) -> list[Difference]:
    """With p values that are corrected for being tested together (Holm 1979)."""
    order = sorted(range(len(found)), key=lambda at: found[at].p)
    adjusted, highest = [0.0] * len(found), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(found) - rank) * found[at].p))
        adjusted[at] = highest
    return [
        Difference(one.arm, one.outcome, one.interval, one.p, p)
        for one, p in zip(found, adjusted, strict=True)
    ]


def planned(runs: Runs, study: Study) -> list[Difference]:
    """The tests of the plan, in its order."""
    return holm([difference(runs, arm, outcome) for arm in PUSHED for outcome in study.tested])


def moved(runs: Runs) -> dict[str, bool]:
    """Whether coupling moved as it was told to, by arm."""
    up, down = (difference(runs, arm, "corrected").interval for arm in PUSHED)
    return {"raise": up.low > 0, "lower": down.high < 0}


def verdict(one: Difference) -> str:
    """What a difference comes to, in words."""
    if one.is_shown:
        return "more" if one.interval.mean > 0 else "less"
    if one.is_small:
        return "too small to matter"
    return f"{one.interval.n} seeds do not tell"


def page(runs: Runs, study: Study) -> str:
    """The whole page, in Markdown."""
    tests = planned(runs, study)
    parts = [
        _introduction(runs, study),
        "## In short",
        _answer(runs, study, tests) if _ended(runs) == study.planned else _WAITS,
        "## Did coupling move as told?",
        _moved(runs, study),
        "## What became of the models",
        _tests(study, tests),
        "## Beside it, without a claim",
        _beside(runs, study),
        "## All runs",
        _all(runs, study),
        _LIMITS.format(time=study.learning, example=study.example),
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(runs: Runs, study: Study) -> str:
    """What was done, and how much of it has ended."""
    ended = _ended(runs)
    lacking = f" Of the {study.planned} runs that were planned, {ended} have ended." * (
        ended < study.planned
    )
    words = _INTRODUCTION.format(study=study, folder=f"cache/{study.folder.name}")
    return f"# Does coupling make a {study.kind} better? What {ended} runs say\n\n{words}{lacking}"


def _ended(runs: Runs) -> int:
    return sum(map(len, runs.values()))


_WAITS = """The answer waits for the runs that have not ended, as it was planned. The tables below
have what there is so far."""
_INTRODUCTION = """*Made by `python -m coupling_core.experiments.pushing.findings` from the
runs in `{folder}`, which `{study.command}` makes.*

What was done and what would be tested was written down before the first run, in
[{study.plan}]({study.plan}). {study.title} were trained with a penalty that
raises the coupling of their blocks, with one that lowers it to chance, and without, from the same
weights on the same {study.data}."""


def _answer(runs: Runs, study: Study, tests: Sequence[Difference]) -> str:
    """The plain answer: a sentence for each arm that was pushed, and what follows."""
    came = moved(runs)
    lines = []
    for arm, done in (("raise", "raised"), ("lower", "lowered")):
        own = {one.outcome: one for one in tests if one.arm == arm}
        coupling = difference(runs, arm, "corrected").interval
        if not came[arm]:
            lines.append(
                f"- Coupling could not be {done} ({_signed(coupling)}): the arm says nothing."
            )
            continue
        told = "; ".join(
            f"{title.partition(' (')[0]} {_signed(own[name].interval)}, {verdict(own[name])}"
            for name, title in study.tested.items()
        )
        lines.append(f"- Coupling was {done} ({_signed(coupling)}). Against the control: {told}.")
    return "\n".join([*lines, "", meaning(runs, tests)])


def meaning(runs: Runs, tests: Sequence[Difference]) -> str:
    """Which of the answers that were foreseen it is."""
    came, loss = moved(runs), {one.arm: one for one in tests if one.outcome == "loss"}
    if not all(came.values()):
        return "The question has no answer for the arm whose coupling did not move."
    told = {arm: _fared(one) for arm, one in loss.items()}
    became = f"Raising coupling made these models {told['raise']}; lowering it {told['lower']}."
    if not all(one.is_shown or one.is_small for one in loss.values()):
        return f"{became} What coupling does for models of this size and training stays open."
    better, worse = told["raise"] == "better", told["lower"] == "worse"
    meaning = {
        (True, True): "In models of this size and training, coupling helps.",
        (True, False): "More of it helps here, and less of it is not missed.",
        (False, True): "They need some coupling, and more of it is of no use to them.",
        (False, False): "Coupling may go with good models without making them good.",
    }[better, worse]
    if told["raise"] == told["lower"] == "worse":
        meaning = (
            "So the penalty costs something whatever it pushes to, and the loss says little about "
            "coupling itself."
        )
    return f"{became} {meaning}"


def _fared(loss: Difference) -> str:
    """What became of the models of an arm."""
    if loss.is_shown:
        return "worse" if loss.interval.mean > 0 else "better"
    told = f"neither better nor worse, as far as {loss.interval.n} seeds tell"
    return told if loss.is_small else f"{told} (which leaves room for a difference that matters)"


def _moved(runs: Runs, study: Study) -> str:
    rows = []
    for arm in study.arms:
        values = last(runs, arm.name, "corrected")
        against = (
            "" if arm.name == CONTROL else _signed(difference(runs, arm.name, "corrected").interval)
        )
        alignment = mean_interval(last(runs, arm.name, "alignment")).mean
        seeds = " / ".join(map(rounded, values))
        rows.append([arm.title, f"{values.mean():.3f}", seeds, against, f"{alignment:.3f}"])
    names = ("arm", "corrected", "by seed", "against the control", "alignment")
    return _table(names, rows)


def _tests(study: Study, tests: Sequence[Difference]) -> str:
    rows = [
        [
            _title(study, one.arm), study.tested[one.outcome], _signed(one.interval),
            p_words(one.p), p_words(one.adjusted), verdict(one),
        ]
        for one in tests
    ]  # fmt: skip
    names = ("arm", "what", "difference from the control", "p", "after Holm", "so")
    return _table(names, rows)


def _beside(runs: Runs, study: Study) -> str:
    rows = [
        [_title(study, "dropped"), title, _title(study, CONTROL), _of(runs, "dropped", name)]
        for name, title in study.tested.items()
    ]
    rows += [
        [
            _title(study, arm), study.tested["loss"], _title(study, "longer"),
            _of(runs, arm, "loss", "longer"),
        ]
        for arm in PUSHED
    ]  # fmt: skip
    steps = study.arms[0].steps
    short = [arm.name for arm in study.arms if arm.steps == steps]
    corrected, loss = (
        np.concatenate([last(runs, arm, what) for arm in short]) for what in ("corrected", "loss")
    )
    rho = float(stats.spearmanr(corrected, loss).statistic)
    return (
        _table(("arm", "what", "against", "difference"), rows)
        + f"\n\nOver all {len(loss)} runs of {steps} steps, corrected score and loss have "
        f"the rank correlation {rho:+.2f}. It mixes arms, and is no test."
    )


def _of(runs: Runs, arm: str, outcome: str, than: str = CONTROL) -> str:
    return _signed(difference(runs, arm, outcome, than).interval)


_HEADS = {
    "loss": "loss",
    "accuracy": "accuracy",
    "calibration": "calibration",
    "skipping": "skipping",
    "line_shape": "line-shape",
    "corrected": "corrected",
    "alignment": "alignment",
    "chance": "chance floor",
}
"""Of the table of all runs, by outcome."""


def _all(runs: Runs, study: Study) -> str:
    names = [name for name in _HEADS if name != "accuracy" or name in study.tested]
    rows = [
        [
            _title(study, arm),
            str(seed),
            str(one.step),
            *(rounded(getattr(one, name)) for name in names),
        ]
        for arm, of in runs.items()
        for seed, run in sorted(of.items())
        for one in run
    ]
    return _table(("arm", "seed", "step", *(_HEADS[name] for name in names)), rows)


_LIMITS = """## What it does not show

The models are small and learn for {time}. The penalty is one way of coupling blocks, at one token
of one {example} a step. Its gradient shares the clipped norm with that of the loss, so that an
effect on the loss may come by way of the optimiser. So few seeds see large effects, and miss small
ones: the intervals say how small."""


def _title(study: Study, name: str) -> str:
    return next(arm.title for arm in study.arms if arm.name == name)


def _signed(found: Interval) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the pages."""
    for study in STUDIES:
        (DOCS / study.page).write_text(page(read_runs(study), study))


if __name__ == "__main__":
    main()
