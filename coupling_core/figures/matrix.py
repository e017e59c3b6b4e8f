"""One coupling matrix: the Jacobian of block l in the singular basis of block l'."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.figures import style, words
from coupling_core.records import ROLES, View
from coupling_core.results import DepthResult
from coupling_core.scores import require_blocks, require_k


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
    require_blocks(result, block, basis)
    side = min(view.k, result.k_view)
    stored = result.matrices[ROLES.index(view.role), block - 1, basis - 1, :side, :side]
    z = np.abs(stored).astype(np.float32) if magnitude else stored.astype(np.float32)
    figure = style.new_figure(
        words.matrix_alt(result, block, basis, view, side, magnitude),
        words.matrix_caption(result, block, basis, view),
        height=560,
        **_axes(basis, side, view),
    )
    triplets = np.arange(1, side + 1)
    figure.add_heatmap(
        x=triplets,
        y=triplets,
        z=z,
        **style.matrix_colors(z, magnitude, limit=limit or style.MATRIX_LIMIT),
        colorbar=style.color_bar(
            style.matrix_name(view, magnitude),
            f"{words.leading(view.k, side)}; unit s₁ = {result.singular_values[block - 1, 0]:.3g}",
        ),
        hovertemplate="row %{y}, column %{x}: %{z:.4f} s₁<extra></extra>",
        name="matrix",
    )
    if np.isnan(z).any():
        figure.add_trace(style.grey_cells(triplets, np.isnan(z), "not measured yet"))
    return style.fix_margins(figure)


def _axes(basis: int, side: int, view: View) -> dict[str, object]:
    left, right = ("u", "v") if view.role == "A" else ("v", "u")
    x_title = f"Singular vector {right} of block {basis}"
    y_title = f"Singular vector {left} of block {basis}"
    whole = {"constrain": "domain", "tick0": 1, "dtick": max(1, -(-side // 8))}
    first, last = 0.5, side + 0.5
    return {
        "legend": style.BELOW,
        "xaxis": {"title": {"text": x_title}, "range": [first, last], **whole}
        | {"constraintoward": "left"},
        "yaxis": {"title": {"text": y_title}, "range": [last, first], "scaleanchor": "x", **whole}
        | {"constraintoward": "top"},
    }
