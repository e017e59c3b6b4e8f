"""Coupling between positions as scores: all pairs at one K, one pair at every K, by distance."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.distances import verdict_by_distance
from coupling_core.analysis.scores import corrected, require_k, score_square
from coupling_core.base.arrays import arrays_of
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, in_a_line, table_of
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import (
    PositionCoupling,
    PositionScores,
    Result,
    TokenMeansResult,
)

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class ByDistance(Plottable):
    """Scores by the distance |t - t'| of two tokens, without any Jacobian against itself.

    Args:
        distance: 0 (where two blocks differ) up to the longest that has a score.
        mean: of the scores at that distance.
        spread: their standard deviation; 0 where there is one.
        low: the smallest of them.
        high: the largest.
        pairs: how many there are.
        scores: of which they are gathered.
        above_chance: whether they are the chance-corrected ones.
    """

    distance: Int[np.ndarray, " distance"]
    mean: Float[np.ndarray, " distance"]
    spread: Float[np.ndarray, " distance"]
    low: Float[np.ndarray, " distance"]
    high: Float[np.ndarray, " distance"]
    pairs: Int[np.ndarray, " distance"]
    scores: PositionScores = field(repr=False, compare=False)
    above_chance: bool = True

    def __repr__(self) -> str:
        at = self.scores.view.k_told if self.scores.view else ""
        return in_a_line(self, self.whose, at, f"{len(self.distance)} distances")

    @property
    def verdict(self) -> str:
        """The means at the shortest and the longest distance."""
        at = self.scores.view.at_k if self.scores.view else ""
        of = f" {'chance-corrected score' if self.above_chance else 'of c'}{at}"
        return verdict_by_distance(self.distance, self.mean, self.pairs, "|t - t'|", of)

    @property
    def whose(self) -> str:
        """Whose scores they are, in a line; "" where these have let go of their result."""
        return self.scores.whose

    def to_pandas(self) -> "DataFrame":
        """A row a distance.

        Returns:
            columns distance (|t - t'|), mean, spread (the standard deviation), low (the smallest)
            and high (the largest) of the scores at that distance, all without a unit, and pairs
            (how many there are). Its `attrs` say of what.
        """
        return table_of(arrays_of(self), self.scores.attributes())

    def plot(self, figure: Literal["distance"] = "distance") -> Drawing:
        """The mean, its spread and range by distance; "distance" is the only figure."""
        name: Literal["distance"] = known_figure(figure, ("distance",))
        return self.scores.plot(name, corrected=self.above_chance)


def score_positions(result: PositionCoupling | TokenMeansResult, view: View) -> PositionScores:
    """Score all pairs of positions at one K.

    Args:
        result: of two blocks, or the mean over all pairs of blocks.
        view: K, definition, p and role.

    Returns:
        `coupling`, `chance` and `corrected` (position position), without a unit.

    Raises:
        InputError: where the view has a range of blocks, which the request chose when it was
            measured, or K exceeds what was measured; of a mean over all pairs of blocks, where it
            was not kept under this definition, at this K or at this order p.
    """
    if view.blocks is not None:
        raise InputError(
            "a comparison of tokens is of the blocks that it was measured in, and the view asks "
            f"for blocks {', '.join(map(str, view.blocks))}: leave them out, or name a block in "
            "the request"
        )
    if isinstance(result, TokenMeansResult):
        return _mean_scores(result, view)
    require_k(result, view.k)
    coupling, floor = score_square(result, view)
    above = corrected(coupling, floor)
    itself = np.eye(len(above), dtype=bool) & (result.blocks[0] == result.blocks[1])
    of = result if isinstance(result, Result) else None
    return PositionScores(coupling, floor, above, itself, 1.0 - itself, result=of, view=view)


def _mean_scores(result: TokenMeansResult, view: View) -> PositionScores:
    kept = list(result.k_grid)
    if view.k not in kept:
        raise InputError(
            f"the mean over all pairs of blocks is kept at K = {', '.join(map(str, kept))}, and "
            f"K = {view.k} was asked for: choose one of these, measure it with "
            f"measure(..., k={view.k}), or choose one pair of blocks"
        )
    require_kept(view, result.definitions)
    at = result.definitions.index(view.definition), ROLES.index(view.role), ..., kept.index(view.k)
    raw, floor, above = (
        getattr(result, name)[at].astype(np.float64) for name in ("coupling", "chance", "corrected")
    )
    itself = np.zeros(raw.shape, bool)
    weight = result.pairs[..., kept.index(view.k)].astype(np.float64)
    return PositionScores(raw, floor, above, itself, weight, result=result, view=view)


def require_kept(view: View, definitions: Collection[str] = DEFINITIONS) -> None:
    """Refuse a view that no mean over all pairs of blocks is kept for."""
    if view.definition not in definitions:
        raise InputError(
            f"this mean over all pairs of blocks was measured without {view.definition!r}, and "
            f"holds {', '.join(definitions)}: choose one of these, or one pair of blocks, or "
            "remove the result, unless it came with the program, and measure it again"
        )
    if DEFINITIONS[view.definition].takes_p and view.p != 1:
        raise InputError(
            f"the mean over all pairs of blocks is kept at p = 1, and p = {view.p:g} was asked "
            "for: leave p out, or choose one pair of blocks"
        )


def by_distance(found: PositionScores, *, above_chance: bool = True) -> ByDistance:
    """Gather the scores of a view by the distance of their tokens.

    Args:
        found: the scores.
        above_chance: whether the chance-corrected ones are meant.
    """
    values = found.corrected if above_chance else found.coupling
    counted = ~np.isnan(values) & ~found.itself
    number = np.arange(len(values))
    distance = np.abs(number[:, None] - number)
    present = np.unique(distance[counted])
    groups = [values[counted & (distance == d)] for d in present]
    mean, spread, low, high = (
        np.array([of(group) for group in groups], float) for of in (np.mean, np.std, np.min, np.max)
    )
    pairs = np.array([group.size for group in groups], int)
    return ByDistance(present, mean, spread, low, high, pairs, found, above_chance)
