"""Scores by distance: how coupling falls off with that of two blocks, and of two tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from coupling_core.analysis.graph import weights
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.notebook import Plottable, Table, arrays_of, in_a_line
from coupling_core.base.results import PositionScores, Scores
from coupling_core.base.units import counted, ranges, rounded


@dataclass(frozen=True, repr=False)
class OverDistance(Plottable[str]):
    """Scores of pairs by their distance; the table has a column for each array, without a unit.

    Args:
        distance: ascending.
        mean: of the scores at that distance; NaN where no pair has one.
        spread: their standard deviation; 0 where there is one.
        pairs: how many have a score.
        scores: of which they are gathered.
        corrected: whether they are the chance-corrected ones, or c.
    """

    apart: ClassVar[str]
    """What the distance is called."""
    figure: ClassVar[str]
    """The name of the only figure."""

    distance: Int[np.ndarray, " distance"]
    mean: Float[np.ndarray, " distance"]
    spread: Float[np.ndarray, " distance"]
    pairs: Int[np.ndarray, " distance"]
    scores: Scores | PositionScores = field(kw_only=True, repr=False, compare=False)
    corrected: bool = field(kw_only=True)

    def __repr__(self) -> str:
        view = self.scores.view
        among = f"blocks {ranges(self.scores.numbers)}" if view.blocks else ""
        ends = f"{len(self.distance)} distances"
        return in_a_line(self, self.scores.whose, among, view.k_told, ends)

    @property
    def verdict(self) -> str:
        """The means at the shortest and the longest distance."""
        score = "chance-corrected score" if self.corrected else "of c"
        of = f"mean {score}{self.scores.view.at_k}"
        known = np.flatnonzero(~np.isnan(self.mean))
        if not known.size:
            return f"No pair has a score: there is no {of}."
        ends = (
            f"{rounded(self.mean[i])} at {self.apart} = {self.distance[i]} "
            f"({counted(int(self.pairs[i]), 'pair')})"
            for i in dict.fromkeys((known[0], known[-1]))
        )
        return f"The {of} is {' and '.join(ends)}."

    def _table(self) -> Table:
        return arrays_of(self), self.scores.attributes()

    def plot(self, figure: str = "", **options: Any) -> Drawing:
        """The curve of the app's page, the only figure; InputError on another name."""
        name: Any = known_figure(figure or self.figure, (self.figure,))
        return self.scores.plot(name, corrected=self.corrected, **options)


@dataclass(frozen=True, repr=False)
class Locality(OverDistance):
    """The score of two blocks, over both directions, by how many blocks apart they are, |l - l'|.

    Args:
        chance: mean of their chance floors, 0 for chance-corrected scores.
    """

    apart, figure = "|l - l'|", "locality"

    chance: Float[np.ndarray, " distance"]


@dataclass(frozen=True, repr=False)
class ByDistance(OverDistance):
    """Scores by the distance of two tokens, |t - t'|, without any Jacobian against itself.

    Args:
        low: the smallest of them.
        high: the largest.
    """

    apart, figure = "|t - t'|", "distance"

    low: Float[np.ndarray, " distance"]
    high: Float[np.ndarray, " distance"]


def _gathered(
    values: Float[np.ndarray, "n n"],
    groups: Sequence[Bool[np.ndarray, "n n"]],
    *statistics: Callable[[np.ndarray], Any],
) -> list[Float[np.ndarray, " group"]]:
    """Statistics of the values of each group of pairs; NaN of a group without any."""
    return [
        np.array([of(values[at]) if at.any() else np.nan for at in groups], np.float64)
        for of in statistics
    ]


def locality(scores: Scores, *, corrected: bool = True) -> Locality:
    """Mean weight against |l - l'| over all pairs that have one, whatever the threshold.

    Args:
        scores: of a result, such as `result.scores(50, "9-16")`.
        corrected: whether a weight is the chance-corrected score, or c; neither has a unit.

    Returns:
        a row a distance that any two of the blocks have.
    """
    weight = weights(scores, corrected=corrected)
    floor = np.zeros_like(weight) if corrected else (scores.chance + scores.chance.T) / 2
    apart = np.abs(np.subtract.outer(scores.blocks, scores.blocks))
    distance = np.unique(apart[apart > 0])
    groups = [np.triu(apart == d) & ~np.isnan(weight) for d in distance]
    mean, spread = _gathered(weight, groups, np.mean, np.std)
    (chance,) = _gathered(floor, groups, np.mean)
    pairs = np.array([at.sum() for at in groups], np.int64)
    return Locality(distance, mean, spread, pairs, chance, scores=scores, corrected=corrected)


def near_less_far(scores: Scores) -> float:
    """Mean corrected score at |l - l'| = 1 minus that of greater distances; NaN without both."""
    found = locality(scores)
    known = ~np.isnan(found.mean)
    near, far = known & (found.distance == 1), known & (found.distance > 1)
    if not (near.any() and far.any()):
        return float("nan")
    others = np.average(found.mean[far], weights=found.pairs[far])
    return float(found.mean[near][0] - others)


def by_distance(found: PositionScores, *, corrected: bool = True) -> ByDistance:
    """Gather the scores of a view by the distance of their tokens.

    Args:
        found: the scores.
        corrected: whether the chance-corrected ones are meant.
    """
    values = found.corrected if corrected else found.coupling
    counted = ~np.isnan(values) & ~found.against_itself()
    number = np.arange(len(values))
    distance = np.abs(number[:, None] - number)
    present = np.unique(distance[counted])
    groups = [counted & (distance == d) for d in present]
    mean, spread, low, high = _gathered(values, groups, np.mean, np.std, np.min, np.max)
    pairs = np.array([at.sum() for at in groups], int)
    return ByDistance(present, mean, spread, pairs, low, high, scores=found, corrected=corrected)
