"""What the numbers of training runs by step come to, in sentences."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from coupling_core.analysis.by_step import Runs, StepNumbers
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph

LEAST_STEPS = 3
"""Steps with a score below which nothing is said of rise and fall, or of how two runs differ."""


def rise_and_fall(run: Sequence[StepNumbers]) -> str:
    """How the mean corrected score goes through training, and the loss; "" of fewer than three."""
    known = _scored(run)
    if len(known) < LEAST_STEPS:
        return ""
    first, last, top = known[0], known[-1], max(known, key=lambda one: one.corrected)
    start = "before training" if first.step == 0 else f"at step {first.step:,}"
    told = f"Coupling is highest {start}, at {_score(first)}"
    if top is not first:
        told = f"Coupling rises from {_score(first)} {start} to {_score(top)} at step {top.step:,}"
    rising = known[: known.index(top) + 1]
    if len(rising) >= LEAST_STEPS:
        low, high = max(pairwise(rising), key=lambda pair: pair[1].corrected - pair[0].corrected)
        by = rounded(high.corrected - low.corrected)
        told += f", fastest between steps {low.step:,} and {high.step:,} (by {by})"
    if top is not last:
        told += f", then falls to {_score(last)} at the end"
    if np.isfinite([first.loss, last.loss]).all():
        verb = "falls" if last.loss < first.loss else "rises"
        told += f", while the loss {verb} from {first.loss:.2f} to {last.loss:.2f} nats a token"
        told += f" (it is {top.loss:.2f} where coupling is highest)" * (top is not last)
    return f"{told}."


def scores_told(run: Sequence[StepNumbers]) -> str:
    """The mean chance-corrected score of each step that has one, where these are few."""
    known = [f"{_score(one)} at step {one.step:,}" for one in _scored(run)]
    return f"Coupling is {', '.join(known)}." if known else "No step has a score."


def compared(runs: Runs) -> str:
    """How coupling and loss of two runs differ; "" below three steps at which both have a score."""
    scores = {name: {one.step: one for one in _scored(run)} for name, run in runs.items()}
    both = sorted(set.intersection(*map(set, scores.values()))) if len(runs) == 2 else []
    if len(both) < LEAST_STEPS:
        return ""
    less, more = sorted(runs, key=lambda name: np.mean([scores[name][s].corrected for s in both]))
    apart = np.array([scores[more][s].corrected - scores[less][s].corrected for s in both])
    tops = [max(scores[name].values(), key=lambda one: one.corrected) for name in (more, less)]
    peaks = " and ".join(f"{_score(top)} (step {top.step:,})" for top in tops)
    ends = [scores[name][both[-1]].loss for name in (more, less)]
    losses = " and ".join(f"{loss:.2f}" for loss in ends)
    return paragraph(
        f"{more} is coupled more than {less} at {(apart > 0).sum()} of the "
        f"{counted(len(both), 'step')} that both have, by {apart.mean():.3f} on average; they peak "
        f"at {peaks}.",
        (
            np.isfinite(ends).all() and ends[0] != ends[1],
            f"At step {both[-1]:,} their losses are {losses} nats a token.",
        ),
        "One prompt is no evidence.",
    )


def _scored(run: Sequence[StepNumbers]) -> list[StepNumbers]:
    return [one for one in run if not np.isnan(one.corrected)]


def _score(one: StepNumbers) -> str:
    return rounded(one.corrected)
