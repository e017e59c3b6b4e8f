"""What every map over block pairs shares: the grey cells, the points that answer the mouse.

Rows are the block l of the Jacobian, row 1 at the top; columns are the block l' of the basis.
"""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from coupling_core.analysis.scores import Scores
from coupling_core.base.results import DepthResult
from coupling_core.figures import cells, style

ROW_TITLE = "Jacobian of block l"
COLUMN_TITLE = "Basis of block l'"


def points(
    result: DepthResult,
    numbers: Scores,
    at: Float[np.ndarray, " block"],
    cell_pixels: float,
    most: int = cells.SVG_POINTS,
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
    return cells.squares(at, at, numbers.blocks, numbers.blocks, texts, cell_pixels, most)


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
    return head + cells.score_lines(
        numbers.coupling[cell], numbers.chance[cell], numbers.corrected[cell]
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
    return cells.grey(at, at, empty, ", or ".join(reasons))


def outline(
    blocks: tuple[int, ...],
    at: Float[np.ndarray, " block"],
    selected: tuple[int, int],
    side: float,
) -> dict[str, object]:
    """A square round the selected pair (l, l'), where `at` are the centres of these blocks."""
    row, column = (at[blocks.index(block)] for block in selected)
    return cells.outline(column, row, side)


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
