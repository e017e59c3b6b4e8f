"""The page `docs/emergence.md`, from the committed numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import spearmanr

from coupling_core.analysis.by_step import step_columns
from coupling_core.analysis.scores import LEVEL, Interval, known_interval, nan_mean
from coupling_core.analysis.statistics import above_p, fall
from coupling_core.base.folders import ROOT
from coupling_core.base.numbers import number_of
from coupling_core.base.units import rounded
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.sources import hub
from coupling_core.sources.suites import DEFAULT_SUITE, SEEDS, find_suite, seeded
from studies.emergence.windows import COUNT, LENGTH, NAME, VIEW
from studies.pretraining.plans import PLANS

PAGE = ROOT / "docs" / "emergence.md"

_MEANS = ("coupling", "chance")
_OF_PATHS = {
    name: number_of(of.kind, name).title.partition(" (")[0].lower()
    for name, of in step_columns().items()
    if of.kind == "trajectory"
}
"""In words: how straight and how even the paths are."""
_INTERVALS = ("corrected", "alignment", "locality", *_OF_PATHS)
_HEADINGS = (
    "step", "held-out loss", "c", "chance floor", "corrected", "by seed", "alignment", "locality",
    *_OF_PATHS.values(),
)  # fmt: skip


@dataclass(frozen=True)
class Runs:
    """The runs of one plan, from all seeds.

    Args:
        plan: of the first seed.
        title: in words.
        steps: of the checkpoints.
        losses: held-out, in nats a token.
        numbers: by their names.
    """

    plan: Plan
    title: str
    steps: tuple[int, ...]
    losses: Float[np.ndarray, "seed step"]
    numbers: Mapping[str, Float[np.ndarray, "seed step window"]]

    def interval(self, name: str, step: int) -> Interval:
        """Mean over windows with its 95 % interval; NaN where none has a number."""
        return known_interval(self.by_window(name)[:, self.steps.index(step)])

    def by_window(self, name: str) -> Float[np.ndarray, "window step"]:
        """The mean of each window over the seeds, which all are looked at with the same windows."""
        values = self.numbers[name]
        flat = values.reshape(len(values), -1)
        return nan_mean(flat, 0).reshape(values.shape[1:]).T

    def mean(self, name: str) -> Float[np.ndarray, " step"]:
        """Over seeds and windows, by step."""
        return np.nanmean(self.numbers[name], axis=(0, 2))

    @property
    def peak(self) -> int:
        """The step of the highest chance-corrected score."""
        return self.steps[int(self.mean("corrected").argmax())]


def read_runs(plan: Plan) -> Runs | None:
    """What is committed of a plan and its twins of other seeds; None where one is not measured."""
    suites = [find_suite(seeded(plan.name, seed)) for seed in SEEDS]
    paths = [hub.cache.repository(suite.repo) / NAME for suite in suites]
    if not all(path.is_file() for path in paths):
        return None
    steps = suites[0].steps
    read = map(pd.read_csv, paths)
    tables = [table.pivot(index="step", columns="window").loc[list(steps)] for table in read]
    numbers = {
        name: np.array([table[name] for table in tables], np.float64)
        for name in (*_MEANS, *_INTERVALS)
    }
    losses = np.array([[suite.losses()[step] for step in steps] for suite in suites])
    return Runs(plan, suites[0].title, steps, losses, numbers)


def page(runs: Sequence[Runs]) -> str:
    """The whole page, in Markdown."""
    parts = [_INTRODUCTION, _FINDINGS, *map(_findings, runs), _across(runs), _TABLES]
    parts += [f"### {run.title}\n\n{_table(run)}" for run in runs]
    return "\n\n".join(parts) + "\n"


def _table(runs: Runs) -> str:
    lines = [_row(_HEADINGS), _row(["---:"] * len(_HEADINGS))]
    for at, step in enumerate(runs.steps):
        corrected, *others = (_shown(runs.interval(name, step)) for name in _INTERVALS)
        seeds = np.nanmean(runs.numbers["corrected"][:, at], axis=1)
        means = (f"{runs.mean(name)[at]:.3f}" for name in _MEANS)
        by_seed = " / ".join(map(rounded, seeds))
        lines.append(
            _row(
                [str(step), f"{runs.losses[:, at].mean():.3f}", *means, corrected, by_seed, *others]
            )
        )
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(found: Interval) -> str:
    if not found.n:
        return "none"
    digits = 3 if abs(found.mean) < 10 else 1
    mean, low, high = (rounded(x, digits) for x in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]"


def _findings(runs: Runs) -> str:
    """What the papers say, what came here, and whether the two agree; a line each."""
    first, peak, last = runs.steps[0], runs.peak, runs.steps[-1]
    lines = [
        (
            "near chance at initialisation",
            _within(runs.interval("corrected", first), _AT_CHANCE),
            f"corrected {_at(runs, 'corrected', first)}",
        ),
        (
            "emerges with training",
            _emerges(runs),
            f"corrected {_at(runs, 'corrected', peak)} at its highest, step {peak}",
        ),
        (
            "keeps growing to the end",
            _grows(runs),
            f"corrected {_at(runs, 'corrected', last)} at step {last}, while the held-out loss "
            f"goes from {_loss(runs, peak):.2f} at step {peak} to {_loss(runs, last):.2f}",
        ),
        (
            "local in depth",
            _above(runs.interval("locality", peak)),
            f"locality {_at(runs, 'locality', peak)} at step {peak}",
        ),
        *(
            (claim, *_becomes_less(runs, *of))
            for claim, of in zip(
                ("paths become straighter", "norms become exponentially spaced"),
                _OF_PATHS.items(),
                strict=True,
            )
        ),
    ]
    rows = [_row(("the papers", "here", "measured")), _row(["---"] * 3)]
    rows += [_row((claim, _HERE[agrees], of)) for claim, agrees, of in lines]
    return f"### {runs.title}\n\n" + "\n".join(rows)


_AT_CHANCE = 0.02
"""A mean chance-corrected score below this is taken for none."""
_HERE: Mapping[bool | None, str] = {True: "agrees", False: "**does not**", None: "cannot be told"}


def _within(found: Interval, bound: float) -> bool | None:
    """Whether a mean lies within -bound..bound; None where its interval goes beyond."""
    if -bound < found.low and found.high < bound:
        return True
    return False if found.low > bound or found.high < -bound else None


def _above(found: Interval) -> bool | None:
    """Whether a mean is above 0; None where its interval has 0 inside."""
    return True if found.low > 0 else False if found.high < 0 else None


def _emerges(runs: Runs) -> bool | None:
    """Whether the highest score is one; that it was chosen as the highest is accounted for."""
    values = runs.by_window("corrected")
    p = above_p(values[:, runs.steps.index(runs.peak)] - _AT_CHANCE) * len(runs.steps)
    if p < LEVEL:
        return True
    return False if runs.interval("corrected", runs.peak).high < _AT_CHANCE else None


def _grows(runs: Runs) -> bool | None:
    """Whether the score is higher at the end than at any step before, or falls from its highest."""
    values, steps = runs.by_window("corrected"), np.array(runs.steps, np.float64)
    if fall(values, steps).p < LEVEL:
        return False
    rises = [above_p(values[:, -1] - before) for before in values[:, :-1].T]
    return True if max(rises) < LEVEL else None


def _becomes_less(runs: Runs, name: str, title: str) -> tuple[bool | None, str]:
    """Whether a number is less at the end than at the beginning, and what it is at both."""
    first, last = runs.steps[0], runs.steps[-1]
    values = runs.by_window(name)
    return (
        _above(known_interval(values[:, 0] - values[:, -1])),
        f"{title} {_at(runs, name, first)} at step {first}, {_at(runs, name, last)} at {last}",
    )


def _at(runs: Runs, name: str, step: int) -> str:
    return _shown(runs.interval(name, step))


def _loss(runs: Runs, step: int) -> float:
    return float(runs.losses[:, runs.steps.index(step)].mean())


def _across(runs: Sequence[Runs]) -> str:
    """What the runs say together."""
    lines = ["### Between the suites", ""]
    for run in runs:
        last = run.interval("corrected", run.steps[-1])
        order = spearmanr(run.mean("corrected"), run.losses.mean(0)).statistic
        of_peak = last.mean / run.interval("corrected", run.peak).mean
        lines.append(
            f"- {run.title}: corrected {_shown(last)} and loss {_loss(run, run.steps[-1]):.3f} at "
            f"the end, {of_peak:.0%} of its peak; rank "
            f"correlation of score and loss over the {len(run.steps)} steps {order:+.2f} (a score "
            "that only rose as the loss fell would have -1)."
        )
    plain = [run for run in runs if not run.plan.drop_path]
    return "\n".join([*lines, "", _width_or_data(plain)])


def _width_or_data(runs: Sequence[Runs]) -> str:
    """Whether what the papers see in large models is a matter of width, as far as this tells."""
    narrow, wide = runs[0], runs[-1]
    peaks = [_shown(run.interval("corrected", run.peak)) for run in (narrow, wide)]
    ends = [run.interval("corrected", run.steps[-1]) for run in (narrow, wide)]
    last = [run.by_window("corrected")[:, -1] for run in (narrow, wide)]
    more = _above(known_interval(last[1] - last[0]))
    what = {True: "more", False: "less", None: "neither more nor less, as far as they tell"}[more]
    falls = [_grows(run) is False for run in (narrow, wide)]
    told = "The score falls at either width, so width alone does not keep it growing. " * all(falls)
    return (
        f"Width or data? From width {narrow.plan.width} to {wide.plan.width} the peak goes from "
        f"{peaks[0]} at step {narrow.peak} to {peaks[1]} at step {wide.peak}, and what is left at "
        f"the end from {_shown(ends[0])} to {_shown(ends[1])}, which over these windows is {what}; "
        f"other seeds may differ. {told}Data was not put to the test: the corpus "
        "is read about once, and the Pythias of the papers read 300 billion tokens."
    )


_PLAN = PLANS[DEFAULT_SUITE]
_INTRODUCTION = f"""# Emergence with training

*Made by `python -m studies.emergence` from the tables in `cache/suites`.*

The papers find in Pythia 6.9B and 12B that coupling is near chance at initialisation, grows with
training and is local in depth (Figure 1), that paths become straighter (line-shape score from 6.5
to 4.2 on average over models) and that their norms become exponentially spaced. The mini-Pythia
suites ask the same of models that anybody can train in minutes: GPT-NeoX with {_PLAN.blocks} blocks
and Pythia's initialisation, {_PLAN.steps[-1]:,} steps of {_PLAN.tokens_a_step:,} tokens of
addresses to Congress, Shakespeare and Jane Austen, about one pass over 7.6 million tokens.
`python -m studies.pretraining NAME` makes the weights.

Every number is a mean over {COUNT} held-out windows of {LENGTH} tokens, measured at the last one,
times {len(SEEDS)} seeds, K = {VIEW.k}, over all pairs of blocks l != l'. In brackets is the 95 %
interval of that mean over windows (Student's t): it says how sure the mean is for these
{len(SEEDS)} runs, and not how much another run would differ, of which "by seed" gives an idea. What
agrees, and what does not, is of these runs; it cannot be told where windows or checkpoints scatter
too much. Locality is the corrected score
of neighbouring blocks less that of all others. For a path of 8 steps in independent directions the
line-shape score would be 2.8."""

_FINDINGS = """## What agrees with the papers and what does not"""

_TABLES = """## The numbers"""
