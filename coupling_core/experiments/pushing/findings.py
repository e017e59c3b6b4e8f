"""Paired differences between the runs, and the page `docs/pushing.md`.

python -m coupling_core.experiments.pushing.findings

What is tested, and what is called a difference, was planned in `docs/preregistration.md`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.scores import Interval, mean_interval
from coupling_core.analysis.statistics import LEVEL, p_words
from coupling_core.base.units import rounded
from coupling_core.experiments.pushing.outcomes import Outcomes
from coupling_core.experiments.pushing.plans import ARMS, CONTROL, SEEDS
from coupling_core.experiments.pushing.running import read_run

PAGE = Path(__file__).parents[3] / "docs" / "pushing.md"
PUSHED = ("raise", "lower")
TESTED = {
    "loss": "held-out loss (nats a token)",
    "calibration": "calibration error",
    "skipping": "loss of leaving a block out (nats a token)",
    "line_shape": "line-shape score",
}
"""What is tested of the arms that are pushed."""
PLANNED = len(ARMS) * len(SEEDS)
"""Runs."""
TOO_SMALL = 0.02
"""Nats a token: a difference in loss whose interval lies within it does not matter."""

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


def read_runs() -> Runs:
    """All runs that have ended."""
    found = {arm.name: {seed: read_run(arm, seed) for seed in SEEDS} for arm in ARMS}
    return {arm: {seed: run for seed, run in of.items() if run} for arm, of in found.items()}


def difference(runs: Runs, arm: str, outcome: str, than: str = CONTROL.name) -> Difference:
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


def planned(runs: Runs) -> list[Difference]:
    """The tests of the plan, in its order."""
    return holm([difference(runs, arm, outcome) for arm in PUSHED for outcome in TESTED])


def moved(runs: Runs) -> dict[str, bool]:
    """Whether coupling moved as it was told to, by arm."""
    up, down = (difference(runs, arm, "corrected").interval for arm in PUSHED)
    return {"raise": up.low > 0, "lower": down.high < 0}


def verdict(one: Difference) -> str:
    """What a difference comes to, in words."""
    if one.is_shown:
        return "more" if one.interval.mean > 0 else "less"
    small = -TOO_SMALL < one.interval.low and one.interval.high < TOO_SMALL
    if one.outcome == "loss" and small:
        return "too small to matter"
    return f"{one.interval.n} seeds do not tell"


def page(runs: Runs) -> str:
    """The whole page, in Markdown."""
    tests = planned(runs)
    parts = [
        _introduction(runs),
        "## In short",
        _answer(runs, tests) if _ended(runs) == PLANNED else _WAITS,
        "## Did coupling move as told?",
        _moved(runs),
        "## What became of the models",
        _tests(tests),
        "## Beside it, without a claim",
        _beside(runs),
        "## All runs",
        _all(runs),
        _LIMITS,
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(runs: Runs) -> str:
    """What was done, and how much of it has ended."""
    ended = _ended(runs)
    lacking = f" Of the {PLANNED} runs that were planned, {ended} have ended." * (ended < PLANNED)
    return f"# Does coupling make a model better? What {ended} runs say\n\n{_INTRODUCTION}{lacking}"


def _ended(runs: Runs) -> int:
    return sum(map(len, runs.values()))


_WAITS = """The answer waits for the runs that have not ended, as it was planned. The tables below
have what there is so far."""
_INTRODUCTION = """*Made by `python -m coupling_core.experiments.pushing.findings` from the
runs in `cache/pushing`, which `python -m coupling_core.experiments.pushing.running` makes.*

What was done and what would be tested was written down before the first run, in
[preregistration.md](preregistration.md). Small language models were trained with a penalty that
raises the coupling of their blocks, with one that lowers it to chance, and without, from the same
weights on the same text."""


def _answer(runs: Runs, tests: Sequence[Difference]) -> str:
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
            for name, title in TESTED.items()
        )
        lines.append(f"- Coupling was {done} ({_signed(coupling)}). Against the control: {told}.")
    return "\n".join([*lines, "", meaning(runs, tests)])


def meaning(runs: Runs, tests: Sequence[Difference]) -> str:
    """Which of the answers that were foreseen it is.

    Args:
        runs: all that were planned.
        tests: of the plan, as `planned` gives them.
    """
    came, loss = moved(runs), {one.arm: one for one in tests if one.outcome == "loss"}
    if not all(came.values()):
        return "The question has no answer for the arm whose coupling did not move."
    told = {arm: _fared(one) for arm, one in loss.items()}
    became = f"Raising coupling made these models {told['raise']}; lowering it {told['lower']}."
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
    if not loss.is_shown:
        return f"neither better nor worse, as far as {loss.interval.n} seeds tell"
    return "worse" if loss.interval.mean > 0 else "better"


def _moved(runs: Runs) -> str:
    rows = []
    for arm in ARMS:
        values = last(runs, arm.name, "corrected")
        against = (
            "" if arm is CONTROL else _signed(difference(runs, arm.name, "corrected").interval)
        )
        alignment = mean_interval(last(runs, arm.name, "alignment")).mean
        seeds = " / ".join(map(rounded, values))
        rows.append([arm.title, f"{values.mean():.3f}", seeds, against, f"{alignment:.3f}"])
    names = ("arm", "corrected", "by seed", "against the control", "alignment")
    return _table(names, rows)


def _tests(tests: Sequence[Difference]) -> str:
    rows = [
        [
            _title(one.arm), TESTED[one.outcome], _signed(one.interval), p_words(one.p),
            p_words(one.adjusted), verdict(one),
        ]
        for one in tests
    ]  # fmt: skip
    names = ("arm", "what", "difference from the control", "p", "after Holm", "so")
    return _table(names, rows)


def _beside(runs: Runs) -> str:
    rows = [
        [_title("dropped"), title, CONTROL.title, _of(runs, "dropped", name)]
        for name, title in TESTED.items()
    ]
    rows += [
        [_title(arm), TESTED["loss"], _title("longer"), _of(runs, arm, "loss", "longer")]
        for arm in PUSHED
    ]
    short = [arm.name for arm in ARMS if arm.steps == CONTROL.steps]
    corrected, loss = (
        np.concatenate([last(runs, arm, what) for arm in short]) for what in ("corrected", "loss")
    )
    rho = float(stats.spearmanr(corrected, loss).statistic)
    return (
        _table(("arm", "what", "against", "difference"), rows)
        + f"\n\nOver all {len(loss)} runs of {CONTROL.steps} steps, corrected score and loss have "
        f"the rank correlation {rho:+.2f}. It mixes arms, and is no test."
    )


def _of(runs: Runs, arm: str, outcome: str, than: str = CONTROL.name) -> str:
    return _signed(difference(runs, arm, outcome, than).interval)


def _all(runs: Runs) -> str:
    names = ("loss", "calibration", "skipping", "line_shape", "corrected", "alignment", "chance")
    rows = [
        [_title(arm), str(seed), str(one.step), *(rounded(getattr(one, name)) for name in names)]
        for arm, of in runs.items()
        for seed, run in sorted(of.items())
        for one in run
    ]
    heads = ("arm", "seed", "step", "loss", "calibration", "skipping", "line-shape", "corrected")
    return _table((*heads, "alignment", "chance floor"), rows)


_LIMITS = """## What it does not show

The models are small and learn for minutes. The penalty is one way of coupling blocks, at one token
of one sequence a step. Its gradient shares the clipped norm with that of the loss, so that an
effect on the loss may come by way of the optimiser. So few seeds see large effects, and miss small
ones: the intervals say how small."""


def _title(name: str) -> str:
    return next(arm.title for arm in ARMS if arm.name == name)


def _signed(found: Interval) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the page.

    Raises:
        InputError: where no run has ended.
    """
    PAGE.write_text(page(read_runs()))


if __name__ == "__main__":
    main()
