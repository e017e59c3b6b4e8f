"""How coupling falls off with the distance of two blocks."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.distances import OverDistance, gathered
from coupling_core.analysis.graph import weights
from coupling_core.base.results import Scores
from coupling_core.base.units import ranges


@dataclass(frozen=True, repr=False)
class Locality(OverDistance):
    """The score of two blocks against how many blocks apart they are.

    Its table has a column for each array, none of which has a unit.

    Args:
        distance: |l - l'|, ascending.
        mean: of the weights of the pairs at that distance; NaN where none has one.
        spread: their standard deviation (of all the pairs there are, so 0 for a single one).
        chance: mean of their chance floors, 0 for chance-corrected weights.
        pairs: how many have a weight.
        scores: of which they are gathered.
        corrected: whether a weight is the chance-corrected score, or c.
    """

    apart, figure = "|l - l'|", "locality"
    distance: Int[np.ndarray, " distance"]
    mean: Float[np.ndarray, " distance"]
    spread: Float[np.ndarray, " distance"]
    chance: Float[np.ndarray, " distance"]
    pairs: Int[np.ndarray, " distance"]
    scores: Scores = field(repr=False, compare=False)
    corrected: bool = True

    @property
    def _among(self) -> str:
        view = self.scores.view
        return f"blocks {ranges(self.scores.blocks)}" if view and view.blocks else ""


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
    mean, spread = gathered(weight, groups, np.mean, np.std)
    (chance,) = gathered(floor, groups, np.mean)
    pairs = np.array([at.sum() for at in groups], np.int64)
    return Locality(distance, mean, spread, chance, pairs, scores, corrected)


def near_less_far(scores: Scores) -> float:
    """Mean corrected score at |l - l'| = 1 minus that of greater distances; NaN without both."""
    found = locality(scores)
    known = ~np.isnan(found.mean)
    near, far = known & (found.distance == 1), known & (found.distance > 1)
    if not (near.any() and far.any()):
        return float("nan")
    others = np.average(found.mean[far], weights=found.pairs[far])
    return float(found.mean[near][0] - others)
