"""A depth-wise result's numbers."""

import numpy as np

from coupling_core.analysis.exports.forms import to_csv
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import DepthResult


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


def table(result: DepthResult, view: View) -> bytes:
    """The scores of every pair as CSV: block (of the Jacobian), basis, coupling, chance, corrected.

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    columns = (found.coupling, found.chance, found.corrected)
    rows = [
        (block, basis, *(float(values[i, j]) for values in columns))
        for i, block in enumerate(found.blocks)
        for j, basis in enumerate(found.blocks)
    ]
    return to_csv(("block", "basis", "coupling", "chance", "corrected"), rows)
