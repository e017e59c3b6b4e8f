"""One coupling matrix as a heatmap, whatever two Jacobians it is of."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float32

from coupling_core.base.records import View
from coupling_core.figures import style, words


def draw(
    corner: Float32[np.ndarray, "k k"],
    view: View,
    *,
    basis: str,
    unit: float,
    why: str,
    alt: str,
    caption: str,
    magnitude: bool = True,
    limit: float | None = None,
) -> go.Figure:
    """Draw the leading corner of A (or B), in units of s_1 of its Jacobian.

    Args:
        corner: its entries; NaN is grey.
        view: K and role.
        basis: whose singular vectors are the basis.
        unit: that s_1.
        why: there may be no entries.
        alt: the alternative text.
        caption: the caption.
        magnitude: draw abs(A), else A with its signs.
        limit: end of the colour range, in units of s_1; None is the range that every matrix has.

    Returns:
        a figure whose first trace is the matrix.
    """
    side = len(corner)
    z = np.abs(corner) if magnitude else corner
    figure = style.new_figure(alt, caption, height=560, **_axes(basis, side, view))
    triplets = np.arange(1, side + 1)
    figure.add_heatmap(
        x=triplets,
        y=triplets,
        z=z,
        **style.matrix_colors(z, magnitude, limit=limit or style.MATRIX_LIMIT),
        colorbar=style.color_bar(
            style.matrix_name(view, magnitude),
            f"{words.leading(view.k, side)}; unit s₁ = {unit:.3g}",
        ),
        hovertemplate="row %{y}, column %{x}: %{z:.4f} s₁<extra></extra>",
        name="matrix",
    )
    if np.isnan(z).any():
        figure.add_trace(style.grey_cells(triplets, np.isnan(z), why))
    return style.fix_margins(figure)


def _axes(basis: str, side: int, view: View) -> dict[str, object]:
    left, right = ("u", "v") if view.role == "A" else ("v", "u")
    x_title = f"Singular vector {right} of {basis}"
    y_title = f"Singular vector {left} of {basis}"
    whole = {"constrain": "domain", "tick0": 1, "dtick": max(1, -(-side // 8))}
    first, last = 0.5, side + 0.5
    return {
        "legend": style.BELOW,
        "xaxis": {"title": {"text": x_title}, "range": [first, last], **whole}
        | {"constraintoward": "left"},
        "yaxis": {"title": {"text": y_title}, "range": [last, first], "scaleanchor": "x", **whole}
        | {"constraintoward": "top"},
    }
