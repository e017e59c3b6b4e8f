"""What every map has, of blocks or of tokens: colours, grey cells, squares for the mouse."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float32, Shaped

from coupling_core.base.records import View
from coupling_core.figures import style

SVG_POINTS = 40 * 40
"""More points than this are drawn by WebGL, so that a page stays light."""
PLOT_PIXELS = 440
"""About how large a map of scores is drawn; the points that answer the mouse are sized by it."""

Columns = Shaped[np.ndarray, " column"]
Rows = Shaped[np.ndarray, " row"]
"""Centres of the cells on the axes."""


def scores(
    x: Columns,
    y: Rows,
    z: Float32[np.ndarray, "row column"],
    view: View,
    *,
    corrected: bool,
    auto_range: bool = False,
) -> go.Heatmap:
    """The scores in their colours: in a fixed range, or stretched over what is drawn."""
    low, high = style.score_range(z, corrected, auto_range)
    return go.Heatmap(
        x=x,
        y=y,
        z=z,
        zmin=low,
        zmax=high,
        colorscale=style.SEQUENTIAL,
        colorbar=style.color_bar(
            style.score_name(corrected), style.score_terms(view) + style.AUTO * auto_range
        ),
        hoverinfo="skip",
        name="scores",
    )


def matrices(
    z: Float32[np.ndarray, "row_pixel column_pixel"],
    view: View,
    shown: str,
    *,
    magnitude: bool,
    auto_range: bool,
) -> go.Heatmap:
    """Stitched matrices in their colours; `shown` says which triplets, and in which unit."""
    return go.Heatmap(
        z=z,
        **style.matrix_colors(z, magnitude, auto_range=auto_range),
        colorbar=style.color_bar(
            style.matrix_name(view, magnitude), shown + style.AUTO * auto_range
        ),
        hoverinfo="skip",
        name="matrices",
    )


def grey(x: Columns, y: Rows, which: Bool[np.ndarray, "row column"], reason: str) -> go.Heatmap:
    """Flat grey over the cells that have no value, with the reason in the legend."""
    return go.Heatmap(
        x=x,
        y=y,
        z=np.where(which, np.float32(0), np.float32(np.nan)),
        colorscale=[(0, style.NOT_COMPUTED), (1, style.NOT_COMPUTED)],
        showscale=False,
        hoverinfo="skip",
        showlegend=True,
        name=reason,
    )


def squares(
    x: Columns,
    y: Rows,
    rows: Sequence[int],
    columns: Sequence[int],
    texts: list[str],
    cell_pixels: float,
    most: int = SVG_POINTS,
) -> go.Scatter | go.Scattergl:
    """Invisible squares over the cells: they carry the hover texts and can be selected.

    Returns:
        a trace whose customdata is the numbers of row and column of each cell, row by row.
    """
    row_at, column_at = np.meshgrid(y, x, indexing="ij")
    labels = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
    trace = go.Scatter if len(labels) <= most else go.Scattergl
    return trace(
        x=column_at.ravel(),
        y=row_at.ravel(),
        customdata=labels,
        mode="markers",
        marker={"symbol": "square", "size": cell_pixels, "opacity": 0, "color": style.INK},
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        name="pairs",
    )


def score_lines(coupling: float, chance: float, corrected: float) -> str:
    """The numbers of a cell, as hovering tells them."""
    return f"c = {coupling:.3f}, chance floor {chance:.3f}<br>chance-corrected {corrected:.3f}"


def outline(x: float, y: float, side: float) -> dict[str, object]:
    """A square of the accent colour round the selected cell, as a plotly shape."""
    looks = {"line": {"color": style.ACCENT, "width": 3}, "name": "selected"}
    return rectangle(x, y, side, side) | looks


def rectangle(x: float, y: float, width: float, height: float) -> dict[str, object]:
    """A rectangle by its centre, as a plotly shape."""
    return {
        "type": "rect",
        "x0": x - width / 2,
        "x1": x + width / 2,
        "y0": y - height / 2,
        "y1": y + height / 2,
    }
