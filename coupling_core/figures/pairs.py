"""What maps over pairs share: scores, grey cells, the points that answer the mouse.

Rows are the block l of the Jacobian, row 1 at the top; columns are the block l' of the basis. Maps
over tokens (`tokens.axes`) take what is no matter of blocks from here.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Float32

from coupling_core.analysis.scores import Scores
from coupling_core.analysis.token_scores import PositionScores
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.figures import style

ROW_TITLE = "Jacobian of block l"
COLUMN_TITLE = "Basis of block l'"
SVG_POINTS = 40 * 40
"""More points than this are drawn by WebGL, so that a page stays light."""


def points(
    result: DepthResult,
    numbers: Scores,
    at: Float[np.ndarray, " block"],
    cell_pixels: float,
    most: int = SVG_POINTS,
) -> go.Scatter | go.Scattergl:
    """Invisible squares over the cells: they carry the hover text and can be selected.

    Args:
        result: where the numbers come from.
        numbers: the scores of the cells.
        at: centre of each block's row and column on the axes.
        cell_pixels: about how large a cell is drawn.
        most: more cells than this are drawn by WebGL.

    Returns:
        a trace whose customdata is [l, l'] for each cell, row by row.
    """
    texts = hover_texts(result, numbers)
    return point_trace(at, at, (numbers.blocks,) * 2, texts, cell_pixels, most)


def point_trace(
    x: Float[np.ndarray, " column"],
    y: Float[np.ndarray, " row"],
    numbers: tuple[Sequence[int], Sequence[int]],
    texts: Sequence[str],
    cell_pixels: float,
    most: int = SVG_POINTS,
) -> go.Scatter | go.Scattergl:
    """Invisible squares over cells, whose customdata are the numbers of row and column."""
    rows, columns = np.meshgrid(y, x, indexing="ij")
    trace = go.Scatter if rows.size <= most else go.Scattergl
    return trace(
        x=columns.ravel(),
        y=rows.ravel(),
        customdata=np.stack(np.meshgrid(*numbers, indexing="ij"), -1).reshape(-1, 2),
        mode="markers",
        marker={"symbol": "square", "size": cell_pixels, "opacity": 0, "color": style.INK},
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        name="pairs",
    )


def hover_texts(result: DepthResult, numbers: Scores) -> list[str]:
    """One text a cell, row by row."""
    missing = unmeasured(result, numbers)
    return [_hover_text(numbers, (i, j), bool(missing[i, j])) for i, j in np.ndindex(missing.shape)]


def _hover_text(numbers: Scores, cell: tuple[int, int], is_unmeasured: bool) -> str:
    row, column = (numbers.blocks[i] for i in cell)
    head = f"Jacobian of block {row} in the basis of block {column}<br>"
    if is_unmeasured:
        return head + "not measured yet"
    if np.isnan(numbers.coupling[cell]):
        return head + "undefined: the rank of the Jacobian is below K"
    return head + score_lines(numbers, cell)


def score_lines(numbers: Scores | PositionScores, cell: tuple[int, int]) -> str:
    """What a hover text says of a score."""
    return (
        f"c = {numbers.coupling[cell]:.3f}, chance floor {numbers.chance[cell]:.3f}<br>"
        f"chance-corrected {numbers.corrected[cell]:.3f}"
    )


def unmeasured(result: DepthResult, numbers: Scores) -> Bool[np.ndarray, "block block"]:
    """Which cells wait for a block that is not measured yet."""
    at = np.ix_(*[np.array(numbers.blocks) - 1] * 2)
    return np.isnan(result.diagonal[0, ..., 0][at])


def grey_cells(
    result: DepthResult, numbers: Scores, at: Float[np.ndarray, " block"]
) -> go.Heatmap | None:
    """Flat grey under the cells without a value, named in the legend; None where there are none."""
    empty = np.isnan(numbers.coupling)
    if not empty.any():
        return None
    waiting = unmeasured(result, numbers)
    reasons = ["not measured yet"] * bool(waiting.any())
    reasons += ["undefined (rank below K)"] * bool((empty & ~waiting).any())
    return style.grey_cells(at, empty, ", or ".join(reasons))


def score_map(
    figure: go.Figure,
    x: Sequence[float] | Float[np.ndarray, " column"],
    y: Sequence[float] | Float[np.ndarray, " row"],
    z: Float32[np.ndarray, "row column"],
    view: View,
    corrected: bool,
    auto_range: bool,
) -> None:
    """Add the colours of scores, with their bar."""
    low, high = style.score_range(z, corrected, auto_range)
    figure.add_heatmap(
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


def outline(
    blocks: tuple[int, ...],
    at: Float[np.ndarray, " block"],
    selected: tuple[int, int],
    side: float,
) -> dict[str, object]:
    """A square of the accent colour round the selected pair, as a plotly shape.

    Args:
        blocks: the numbers of the blocks drawn.
        at: their centres on the axes.
        selected: the pair (l, l').
        side: of a cell, in the units of the axes.
    """
    row, column = (at[blocks.index(block)] for block in selected)
    return square(row, column, side)


def square(row: float, column: float, side: float) -> dict[str, object]:
    """The outline of a cell, by its centre."""
    return {
        "type": "rect",
        "x0": column - side / 2,
        "x1": column + side / 2,
        "y0": row - side / 2,
        "y1": row + side / 2,
        "line": {"color": style.ACCENT, "width": 3},
        "name": "selected",
    }


def axes(
    at: Float[np.ndarray, " block"], blocks: tuple[int, ...], side: float, most: int = 16
) -> dict[str, object]:
    """Square axes with block numbers, thinned to at most `most` so that labels never collide."""
    step = -(-len(blocks) // most)
    first, last = at[0] - side / 2, at[-1] + side / 2
    ticks = {
        "tickvals": at[::step],
        "ticktext": [str(block) for block in blocks[::step]],
        "constrain": "domain",
    }
    return {
        "legend": style.BELOW,
        "xaxis": {
            "title": {"text": COLUMN_TITLE},
            "range": [first, last],
            "constraintoward": "left",
            **ticks,
        },
        "yaxis": {
            "title": {"text": ROW_TITLE},
            "range": [last, first],
            "scaleanchor": "x",
            "constraintoward": "top",
            **ticks,
        },
    }
