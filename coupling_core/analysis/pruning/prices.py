"""What removing blocks costs: held-out loss against blocks removed, with intervals over texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.pruning.rankings import Ranking

RESAMPLES = 2000
"""Draws of the bootstrap over texts."""
BAND = (0.05, 0.95)
"""Of random draws, between which a ranking is no better and no worse than chance."""


@dataclass(frozen=True)
class Price:
    """Mean loss over all predicted tokens, in nats a token, with its 95 % interval over texts."""

    loss: float
    low: float
    high: float


@dataclass(frozen=True)
class Cut:
    """One set of blocks, and what it costs on each held-out text.

    Args:
        by: the ranking that chose it.
        draw: which of the random ones, from 1; 0 of any other ranking.
        blocks: those removed, 1..L, ascending.
        loss: sum of the loss of each text without them, in nats.
        tied: the same with the nearest block that stays in the place of each; empty of `random`.
    """

    by: Ranking
    draw: int
    blocks: tuple[int, ...]
    loss: tuple[float, ...]
    tied: tuple[float, ...]


@dataclass(frozen=True)
class Point:
    """A ranking at one budget.

    Args:
        by: the ranking.
        removed: how many blocks.
        blocks: which, ascending; none of `random`, which has a set a draw.
        left_out: the price of leaving them out; of `random`, the median draw between the 5 % and
            the 95 % quantile over draws.
        tied: the price of their neighbours' weights in their place; None of `random`.
        beats: how many random draws are dearer when left out; None without any, and of `random`.
        verdict: "better", "worse" or "within" what random draws cost (`BAND`); "" without any.
    """

    by: Ranking
    removed: int
    blocks: tuple[int, ...]
    left_out: Price
    tied: Price | None = None
    beats: int | None = None
    verdict: str = ""


def price(
    sums: Sequence[float] | Float[np.ndarray, " text"], predicted: Int[np.ndarray, " text"]
) -> Price:
    """Loss a token, with its percentile interval from a bootstrap over texts, of their sums."""
    weights = _weights(len(predicted))
    totals = np.asarray(sums, np.float64)
    drawn = (weights @ totals) / (weights @ predicted)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Price(float(totals.sum() / predicted.sum()), float(low), float(high))


def curve(cuts: Sequence[Cut], predicted: Int[np.ndarray, " text"]) -> tuple[Point, ...]:
    """Every ranking at every number of blocks removed, in the order in which they come."""
    budgets = dict.fromkeys((cut.by, len(cut.blocks)) for cut in cuts)
    return tuple(_point(*budget, cuts, predicted) for budget in budgets)


def _point(
    by: Ranking, removed: int, cuts: Sequence[Cut], predicted: Int[np.ndarray, " text"]
) -> Point:
    of_size = [cut for cut in cuts if len(cut.blocks) == removed]
    drawn = np.array([sum(cut.loss) for cut in of_size if cut.by == "random"]) / predicted.sum()
    if by == "random":
        median, low, high = map(float, np.quantile(drawn, (0.5, *BAND)))
        return Point(by, removed, (), Price(median, low, high))
    (cut,) = (cut for cut in of_size if cut.by == by)
    left_out, tied = price(cut.loss, predicted), price(cut.tied, predicted)
    if not drawn.size:
        return Point(by, removed, cut.blocks, left_out, tied)
    low, high = np.quantile(drawn, BAND)
    told = "better" if left_out.loss < low else "worse" if left_out.loss > high else "within"
    return Point(by, removed, cut.blocks, left_out, tied, int((drawn > left_out.loss).sum()), told)


@cache
def _weights(texts: int) -> Float[np.ndarray, "resample text"]:
    """How often each text is drawn: alike for all sets of blocks, which are so compared."""
    generator = np.random.default_rng(0)
    return generator.multinomial(texts, np.full(texts, 1 / texts), RESAMPLES).astype(np.float64)
