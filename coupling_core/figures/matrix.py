"""One coupling matrix: the Jacobian of block l in the singular basis of block l'."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import require_k
from coupling_core.base.records import ROLES, View, resolve_block
from coupling_core.base.results import DepthResult
from coupling_core.figures import words
from coupling_core.figures.matrix_map import draw


def matrix(
    result: DepthResult,
    block: int,
    basis: int,
    view: View,
    *,
    magnitude: bool = True,
    limit: float | None = None,
) -> go.Figure:
    """Leading corner of A (or B) of one pair, in units of s_1 of its Jacobian.

    Args:
        result: may be partial; a pair that waits is grey.
        block: l, whose Jacobian it is.
        basis: l', whose singular vectors are the basis.
        view: K and role; the definition enters the caption.
        magnitude: draw abs(A), else A with its signs.
        limit: end of the colour range, in units of s_1; None is the range that every matrix has.

    Returns:
        a figure whose first trace is the matrix.

    Raises:
        InputError: where K or a block is not in the result.
    """
    require_k(result, view.k)
    block, basis = (resolve_block(each, result.n_blocks) for each in (block, basis))
    side = min(view.k, result.k_view)
    stored = result.matrices[ROLES.index(view.role), block - 1, basis - 1, :side, :side]
    return draw(
        stored.astype(np.float32),
        view,
        basis=f"block {basis}",
        unit=float(result.singular_values[block - 1, 0]),
        why="not measured yet",
        alt=words.matrix_alt(result, block, basis, view, side, magnitude),
        caption=words.matrix_caption(result, block, basis, view),
        magnitude=magnitude,
        limit=limit,
    )
