"""The pages `docs/pushing.md` and `docs/pushing-vision.md`, from the runs."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from coupling_core.analysis.scores import Interval, mean_interval, p_words
from coupling_core.base.folders import ROOT
from coupling_core.base.units import rounded
from coupling_core.experiments.pushing import (
    CONTROL,
    PUSHED,
    Difference,
    Runs,
    difference,
    last,
    meaning,
    moved,
    planned,
    read_runs,
)
from studies.pushing.plans import Study


def write(study: Study) -> None:
    """Write the page of a study, from what has ended of it."""
    (ROOT / "docs" / study.page).write_text(page(read_runs(study.folder), study))


def verdict(one: Difference) -> str:
    """What a difference comes to, in words."""
    if one.is_shown:
        return "more" if one.interval.mean > 0 else "less"
    if one.is_small:
        return "too small to matter"
    return f"{one.interval.n} seeds do not tell"


def page(runs: Runs, study: Study) -> str:
    """The whole page, in Markdown."""
    tests = planned(runs, study.tested)
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
_INTRODUCTION = """*Made by `{study.command}` from the runs in `{folder}`.*

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
