"""A depth-wise result's numbers."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.scores import means, score_pairs
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import DepthResult

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def arrays(result: DepthResult, view: View, k_view: int | None = None) -> dict[str, np.ndarray]:
    """What a depth-wise result holds, by name, for the viewed blocks.

    Args:
        result: the result.
        view: K, definition, role and blocks.
        k_view: largest side of the matrices; None gives all that is stored.

    Returns:
        `singular_values` (block k), `A` or `B` (block block k_view k_view), `coupling`, `chance`
        and `corrected` (block block), `blocks`, `tokens` (text), `token_ids`, `certified` (block).

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    at = np.array(found.blocks) - 1
    side = min(view.k, result.k_view, k_view or result.k_view)
    corners = result.matrices[ROLES.index(view.role)][np.ix_(at, at)][..., :side, :side]
    s = result.singular_values[at]
    return {
        "singular_values": s[:, : view.k],
        view.role: corners.astype(np.float32) * s[:, 0, None, None, None],
        "coupling": found.coupling,
        "chance": np.array(found.chance),
        "corrected": found.corrected,
        "blocks": np.array(found.blocks),
        "tokens": np.array(result.tokens),
        "token_ids": result.token_ids,
        "certified": np.array([result.certificates[i].certified for i in at]),
    }


def axes(result: DepthResult) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array: a row is the Jacobian's block, a column the basis."""
    pair, corner = ("block", "basis"), ("block", "basis", "u", "v")
    return {
        "singular_values": ("block", "k"),
        **dict.fromkeys(ROLES, corner),
        **dict.fromkeys(("coupling", "chance", "corrected"), pair),
        **dict.fromkeys(("blocks", "certified"), ("block",)),
        **dict.fromkeys(("tokens", "token_ids"), ("token",)),
    }


def table(result: DepthResult, view: View) -> "DataFrame":
    """The scores of every pair: a row a pair.

    Returns:
        columns block (of the Jacobian), basis, coupling, chance, corrected.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return score_pairs(result, view).to_pandas()


def row(result: DepthResult, view: View) -> dict[str, float]:
    """Its columns of a sweep's table: means over all pairs of blocks."""
    return dict(means(score_pairs(result, view)))
