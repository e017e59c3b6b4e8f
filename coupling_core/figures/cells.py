"""What every map has, of blocks or of tokens: colours, grey cells, squares for the mouse."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float32, Shaped

from coupling_core.base.records import View
from coupling_core.base.units import rounded, with_minus
from coupling_core.figures import style

Columns = Shaped[np.ndarray, " column"]
Rows = Shaped[np.ndarray, " row"]
"""Centres of the cells on the axes."""
DIFFERENCES_READ = (
    "red where A is coupled more, blue where B is, and the colour of the page where the two agree. "
    "Differences beyond the colour bar are drawn in the colours at its ends."
)
"""How a map of differences is read."""


def scores(
    x: Columns,
    y: Rows,
    z: Float32[np.ndarray, "row column"],
    view: View,
    *,
    corrected: bool,
    auto_range: bool = False,
    limit: float = style.CORRECTED_RANGE[1],
) -> go.Heatmap:
    """The scores in their colours: in a fixed range up to a limit, or over what is drawn."""
    low, high = style.score_range(z, corrected, auto_range, limit)
    return go.Heatmap(
        x=x,
        y=y,
        z=z,
        zmin=low,
        zmax=high,
        colorscale=style.SEQUENTIAL,
        colorbar=style.score_bar(view, corrected, auto_range, limit),
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


def differences(
    x: Columns,
    y: Rows,
    z: Float32[np.ndarray, "row column"],
    view: View,
    *,
    corrected: bool,
    **hover: Any,
) -> go.Heatmap:
    """A - B of scores, in a diverging range round 0.

    Args:
        x: places of the columns.
        y: of the rows.
        z: the differences; NaN where there is none.
        view: how the scores are looked at.
        corrected: whether they are chance-corrected.
        **hover: what hovering tells.
    """
    title = f"A - B, {style.score_name(corrected).lower()}"
    return go.Heatmap(
        x=x,
        y=y,
        z=z,
        zmin=-style.DIFFERENCE_LIMIT,
        zmax=style.DIFFERENCE_LIMIT,
        colorscale=style.DIVERGING,
        colorbar=style.color_bar(title, style.score_terms(view), **style.DIFFERENCE_TICKS),
        name="difference",
        **hover,
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
    x: Columns, y: Rows, rows: Sequence[int], columns: Sequence[int], texts: list[str]
) -> go.Heatmap:
    """An invisible map over the cells: it carries the hover texts and takes the clicks.

    Plotly finds the cell of a heatmap from the axes, at any width and zoom; markers would have a
    size in pixels, and take their neighbours' clicks where cells are drawn smaller than they are.

    Args:
        x: centres of the columns.
        y: centres of the rows.
        rows: numbers of the rows.
        columns: numbers of the columns.
        texts: of the cells, row by row.

    Returns:
        a trace whose customdata (row column 2) is the numbers of row and column of each cell.
    """
    shape = len(rows), len(columns)
    return go.Heatmap(
        x=x,
        y=y,
        z=np.zeros(shape, np.uint8),
        customdata=np.stack(np.meshgrid(rows, columns, indexing="ij"), -1),
        text=np.array(texts, object).reshape(shape),
        opacity=0,
        showscale=False,
        hovertemplate="%{text}<extra></extra>",
        name="pairs",
    )


def score_lines(coupling: float, chance: float, corrected: float) -> str:
    """The numbers of a cell, as hovering tells them."""
    c, floor, above = map(rounded, (coupling, chance, corrected))
    return with_minus(f"c = {c}, chance floor {floor}<br>chance-corrected {above}")


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
