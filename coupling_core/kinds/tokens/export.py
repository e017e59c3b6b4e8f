"""The numbers of a comparison of tokens."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import PositionScores, TokenMeansResult, TokensResult
from coupling_core.base.results.scores import MEASURES

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def arrays(
    result: TokensResult | TokenMeansResult, view: View, k_view: int | None = None
) -> dict[str, np.ndarray]:
    """What a comparison of tokens holds, by name.

    Args:
        result: the result.
        view: K, definition and role.
        k_view: largest side of the matrices; None gives all that is stored.

    Returns:
        `coupling`, `chance` and `corrected` (position position), row = the Jacobian's token, NaN =
        forbidden by causality, or a rank below K; `positions`, `tokens` (text), `token_ids`,
        `certified`, `rank`. Of two blocks, `singular_values` (2 position k), `blocks` (l and l')
        and `A` or `B` (position position k_view k_view); of the mean over all pairs,
        `singular_values` (block position k) and `pairs`, how many are averaged.

    Raises:
        InputError: where K is not in the result.
    """
    found = score_positions(result, view)
    s = result.singular_values
    named = {
        "singular_values": s[..., : view.k],
        "coupling": found.coupling,
        "chance": _chance(found),
        "corrected": found.corrected,
        "positions": np.arange(1, len(result.tokens) + 1),
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
        "rank": result.rank,
        "certified": np.array(
            [[c and c.certified for c in row] for row in result.certificates], bool
        ),
    }
    if isinstance(result, TokenMeansResult):
        return named | {"pairs": result.pairs[..., list(result.k_grid).index(view.k)]}
    side = min(view.k, result.k_view, k_view or result.k_view)
    corners = result.matrices[ROLES.index(view.role)][..., :side, :side]
    return named | {
        "blocks": np.array(result.blocks),
        view.role: corners.astype(np.float32) * s[0, :, 0, None, None, None],
    }


def axes(result: TokensResult | TokenMeansResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array: a row is the Jacobian's token, a column the basis'."""
    pair = ("token", "other_token")
    of_rows = "block" if isinstance(result, TokenMeansResult) else "side"
    return {
        "singular_values": (of_rows, "token", "k"),
        **dict.fromkeys(ROLES, (*pair, "u", "v")),
        **dict.fromkeys(("coupling", "chance", "corrected", "pairs"), pair),
        **dict.fromkeys(("positions", "tokens", "token_ids"), ("token",)),
        **dict.fromkeys(("rank", "certified"), (of_rows, "token")),
        "blocks": ("side",),
    }


def table(result: TokensResult | TokenMeansResult, view: View) -> "DataFrame":
    """The scores of every pair of tokens of the whole prompt: a row a pair.

    Returns:
        columns token (of the Jacobian), other_token (of the basis), text, other_text, coupling,
        chance, corrected; a pair without a score has none of the three.

    Raises:
        InputError: where K is not in the result.
    """
    return score_positions(result, view).to_pandas()


def row(result: TokensResult | TokenMeansResult, view: View) -> dict[str, float]:
    """Its columns of a sweep's table: means over all pairs of tokens."""
    mean = score_positions(result, view).mean()
    return {name: getattr(mean, name) for name in MEASURES}


def _chance(found: PositionScores) -> np.ndarray:
    return np.where(np.isnan(found.coupling), np.nan, found.chance)
