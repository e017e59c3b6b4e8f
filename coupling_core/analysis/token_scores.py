"""Coupling between positions as scores: all pairs at one K."""

from collections.abc import Collection

import numpy as np

from coupling_core.analysis.scores import corrected, require_k, score_square
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.errors import InputError
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import (
    PositionScores,
    TokenMeansResult,
    TokensResult,
)


def score_positions(result: TokensResult | TokenMeansResult, view: View) -> PositionScores:
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
    return PositionScores(coupling, floor, above, 1.0 - itself, result=result, view=view)


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
    # Where there is no pair, there is no score either.
    weights = np.maximum(result.pairs[..., kept.index(view.k)], 1.0)
    return PositionScores(raw, floor, above, weights, result=result, view=view)


def require_kept(view: View, definitions: Collection[str] = DEFINITIONS) -> None:
    """Refuse a view that no mean over all pairs of blocks is kept for."""
    if view.definition not in definitions:
        raise InputError(
            f"this mean over all pairs of blocks was measured without {view.definition!r}, and "
            f"holds {', '.join(definitions)}: choose one of these, or one pair of blocks, or "
            "remove the result, unless it came with the program, and measure it again"
        )
    if view.level != "frames":
        raise InputError(
            "the mean over all pairs of blocks is kept against random bases alone: leave out the "
            f"level {view.level!r}, or choose one pair of blocks"
        )
    if DEFINITIONS[view.definition].takes_p and view.p != 1:
        raise InputError(
            f"the mean over all pairs of blocks is kept at p = 1, and p = {view.p:g} was asked "
            "for: leave p out, or choose one pair of blocks"
        )
