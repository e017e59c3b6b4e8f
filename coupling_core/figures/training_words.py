"""Sentences about training runs, and the origin of the figures over their steps."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from coupling_core.analysis.by_step import Course, Runs, StepNumbers
from coupling_core.base.records import AnyView
from coupling_core.base.units import counted, rounded
from coupling_core.figures import words

LEAST_STEPS = 3
"""Steps with a score below which nothing is said of rise and fall."""

PAIR = 2
"""Runs that a sentence compares."""


def rise_and_fall(run: Sequence[StepNumbers]) -> str:
    """How the mean chance-corrected score goes through training, and the loss with it.

    Args:
        run: its numbers by step, rising.

    Returns:
        "" where fewer than three steps have a score.
    """
    known = [one for one in run if not np.isnan(one.corrected)]
    if len(known) < LEAST_STEPS:
        return ""
    first, last = known[0], known[-1]
    top = max(known, key=lambda one: one.corrected)
    start = "before training" if first.step == 0 else f"at step {first.step:,}"
    told = f"Coupling rises from {_score(first)} {start} to {_score(top)} at step {top.step:,}"
    if top.step == first.step:
        told = f"Coupling is highest {start}, at {_score(first)}"
    else:
        told += _steepest(known[: known.index(top) + 1])
    if top.step != last.step:
        told += f", then falls to {_score(last)} at the end"
    return told + _loss_words(known, top) + "."


def _steepest(rising: Sequence[StepNumbers]) -> str:
    """Between which two of the steps of a rise it is steepest; "" where there are but two."""
    if len(rising) < LEAST_STEPS:
        return ""
    low, high = max(pairwise(rising), key=lambda pair: pair[1].corrected - pair[0].corrected)
    by = rounded(high.corrected - low.corrected)
    return f", fastest between steps {low.step:,} and {high.step:,} (by {by})"


def scores_told(run: Sequence[StepNumbers]) -> str:
    """The mean chance-corrected score of each step that has one, where these are few."""
    known = [f"{_score(one)} at step {one.step:,}" for one in run if not np.isnan(one.corrected)]
    return f"Coupling is {', '.join(known)}." if known else "No step has a score."


def compared(runs: Runs) -> str:
    """How the coupling of two runs differs, step by step, and where their losses end.

    Args:
        runs: two, by what to call them.

    Returns:
        "" where there are not two, or fewer than three steps at which both have a score.
    """
    if len(runs) != PAIR:
        return ""
    scores = {
        name: {one.step: one for one in run if not np.isnan(one.corrected)}
        for name, run in runs.items()
    }
    both = sorted(set.intersection(*map(set, scores.values())))
    if len(both) < LEAST_STEPS:
        return ""
    less, more = sorted(runs, key=lambda name: np.mean([scores[name][s].corrected for s in both]))
    apart = np.array([scores[more][s].corrected - scores[less][s].corrected for s in both])
    tops = [max(scores[name].values(), key=lambda n: n.corrected) for name in (more, less)]
    told = (
        f"{more} is coupled more than {less} at {(apart > 0).sum()} of the "
        f"{counted(len(both), 'step')} that "
        f"both have, by {apart.mean():.3f} on average; they peak at {_score(tops[0])} (step "
        f"{tops[0].step:,}) and {_score(tops[1])} (step {tops[1].step:,})."
    )
    ends = [scores[name][both[-1]].loss for name in (more, less)]
    if np.isfinite(ends).all() and ends[0] != ends[1]:
        told += (
            f" At step {both[-1]:,} their losses are {ends[0]:.2f} and {ends[1]:.2f} nats a token."
        )
    return told + " One prompt is no evidence."


def _loss_words(known: Sequence[StepNumbers], top: StepNumbers) -> str:
    first, last = known[0].loss, known[-1].loss
    if np.isnan(first) or np.isnan(last):
        return ""
    still = f" (it is {top.loss:.2f} where coupling is highest)" * (top.step != known[-1].step)
    verb = "falls" if last < first else "rises"
    return f", while the loss {verb} from {first:.2f} to {last:.2f} nats a token{still}"


def _score(one: StepNumbers) -> str:
    return rounded(one.corrected)


def training_source(courses: Sequence[Course], view: AnyView) -> str:
    """Where a figure over training steps comes from, in one line; "" where nothing is measured."""
    measured = [result for course in courses for result in (course.depth or course.paths).values()]
    if not measured:
        return ""
    # One that is not certified speaks for all.
    result = next((result for result in measured if not result.certified), measured[-1])
    runs = "; ".join(
        f"{course.suite.title} ({len(course.depth or course.paths)} of "
        f"{counted(len(course.steps), 'step')})"
        for course in courses
    )
    return words.provenance(result, view, f"{runs} {result.measured}")
