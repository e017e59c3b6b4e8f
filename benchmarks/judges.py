"""Whether a sentence is said of a world, and whether it is false there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from benchmarks import worlds
from benchmarks.worlds import Course, Draw, Models, Runs
from coupling_core import mean_interval
from coupling_core.analysis import sentences, statistics
from coupling_core.analysis.statistics import ModelMeans, Points, Range, pair
from coupling_core.base.records import METHODS
from coupling_core.experiments.vision.rates import rate_effect

RUNS = 4
"""Training runs that a sentence on them is about."""

Judged = tuple[bool, bool]
"""Whether a sentence is said, and whether it is false."""
Judge = Callable[[Draw], Judged]
"""Draws a world once."""


@dataclass(frozen=True)
class Case:
    """A sentence in a world."""

    sentence: str
    world: str  # what is so
    judge: Judge  # draws once
    allowed: float = 0.05  # part of the draws in which it may be false
    spoken: float = 0.0  # part of the draws in which it must be said, where it is true

    def count(self, draws: int) -> tuple[int, int]:
        """In how many draws it is said, and in how many false."""
        rng = np.random.default_rng(0)
        judged = np.array([self.judge(rng) for _ in range(draws)])
        return int(judged[:, 0].sum()), int(judged[:, 1].sum())


def judging(judge: Callable[..., Judged]) -> Callable[..., Judge]:
    """What takes all but the draw, and gives a judge."""

    @wraps(judge)
    def of(*world: Any, **options: Any) -> Judge:
        return lambda rng: judge(rng, *world, **options)

    return of


def _has(found: Range, truth: float) -> Judged:
    """Whether there is an interval, and whether it misses the truth."""
    return not found.reason, not found.reason and not found.low <= truth <= found.high


def points(means: ModelMeans) -> Points:
    """Coupling and loss of each."""
    return pair(means, "coupling", "loss")


def pearson(means: ModelMeans) -> Range:
    """The interval of Pearson's correlation over whole families."""
    return statistics.correlate(points(means), "pearson").over


def spearman(means: ModelMeans) -> Range:
    """The same by ranks."""
    return statistics.correlate(points(means), "spearman").over


def slope(means: ModelMeans) -> Range:
    """That of the line's slope."""
    return statistics.fit(points(means)).over_clusters


def given_sizes(means: ModelMeans) -> Range:
    """That of the correlation that is left given the sizes."""
    return statistics.partial_correlation(means, "loss").partial.over


@judging
def interval(
    rng: Draw,
    world: Models,
    sizes: Sequence[int],
    truth: float,
    of: Callable[[ModelMeans], Range] = pearson,
) -> Judged:
    """Does the interval have the number that is there?"""
    return _has(of(world.draw(rng, sizes)), truth)


@judging
def agreement(rng: Draw, world: Models, sizes: Sequence[int], truth: str) -> Judged:
    """Is it said that the sign agrees with the claim, or goes against it, where it does?"""
    drawn = points(world.draw(rng, sizes))
    found = (statistics.correlate(drawn, method) for method in METHODS)
    said = re.match("Its sign (agrees with|goes against)", sentences.agreement(*found, "loss"))
    return bool(said), bool(said) and said[1] != truth


@judging
def verdict(rng: Draw, world: Models, sizes: Sequence[int], words: str, is_true: bool) -> Judged:
    """Is a part of the sentence on families said where it is so?"""
    found = statistics.leave_one_family_out(points(world.draw(rng, sizes)))
    said = words in found.verdict
    return said, said and not is_true


@judging
def falls(rng: Draw, world: Course, is_true: bool) -> Judged:
    """Is it said of any run that it falls, where it does?"""
    found = {f"run {i}": statistics.fall(world.draw(rng), worlds.STEPS) for i in range(RUNS)}
    said = "coupling falls" in sentences.course(found, {}, "loss")
    return said, said and not is_true


@judging
def bends(rng: Draw, world: Course, is_true: bool) -> Judged:
    """Is it said of any run that no line describes it, where none does?"""
    means = {f"run {i}": world.draw(rng).mean(0) for i in range(RUNS)}
    found = {name: statistics.bend_p(mean, worlds.LOSSES) for name, mean in means.items()}
    said = "no straight line" in sentences.course({}, found, "loss")
    return said, said and not is_true


@judging
def rates(rng: Draw, world: Runs, words: str = "", best: Sequence[float] = ()) -> Judged:
    """Is what the rate does told as it is? At `best` the mean is highest, where a curve is told."""
    found = rate_effect(*world.draw(rng))
    said = not re.match("does not|cannot", found.told)
    true = re.match(words, found.told) if words else None
    if true and "curve" in found.told:
        true = set(best) & set(found.best)
    return said, said and not true


@judging
def within_rates(rng: Draw, seeds: int) -> Judged:
    """Does the interval over whole seeds have 0, where seeds move both numbers, each its way?"""
    world = Runs(worlds.no_effect, seed=2.0, seeds=seeds)
    (rate, seed, x), (_, _, y) = world.draw(rng), world.draw(rng)
    each = (rate[:, None] == worlds.RATES).astype(float)
    left = statistics.correlation_of(x, y, seed.astype(int), "seeds", given=each)
    return _has(left.over, 0)


@judging
def over_prompts(rng: Draw, n: int, rho: float, *, is_mean: bool) -> Judged:
    """Does the interval of Spearman's correlation, or of its mean over models, have the truth?"""
    truth = 6 / np.pi * np.arcsin(rho / 2)
    table = worlds.prompts_table(rng, n, rho, models=3 if is_mean else 1)
    trends = statistics.prompt_trends(table, "tokens", 8)
    return _has((trends.mean if is_mean else trends.models[0].rho).over, truth)


@judging
def mean_of(rng: Draw, n: int, draw: Callable[[Draw, int], np.ndarray], truth: float) -> Judged:
    """Does the interval of a mean over n prompts, or seeds, have it?"""
    found = mean_interval(draw(rng, n))
    return True, not found.low <= truth <= found.high
