"""What every map over block pairs shares: the grey cells, and what answers the mouse.

Rows are the block l of the Jacobian, row 1 at the top; columns are the block l' of the basis.
"""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Float32

from coupling_core.analysis.scores import Scores
from coupling_core.base.results import DepthResult
from coupling_core.figures import cells, style

ROW_TITLE = "Jacobian of block l"
COLUMN_TITLE = "Basis of block l'"
ITSELF = "a block with itself: always 1"
"""Why a map of scores does not colour its diagonal: trained or not, it would outshine all else."""


def colored(numbers: Scores, corrected: bool) -> Float32[np.ndarray, "block block"]:
    """What a map of scores colours: NaN where a Jacobian meets its own basis."""
    shown = numbers.corrected if corrected else numbers.coupling
    return np.where(itself(numbers), np.nan, shown).astype(np.float32)


def itself(numbers: Scores) -> Bool[np.ndarray, "block block"]:
    """Which cells compare a block with itself."""
    return np.equal.outer(numbers.blocks, numbers.blocks)


def points(
    result: DepthResult | None, numbers: Scores, at: Float[np.ndarray, " block"]
) -> go.Heatmap:
    """What carries the hover texts of the cells and takes the clicks.

    Args:
        result: where the numbers come from; None where they are means of several.
        numbers: the scores of the cells.
        at: centre of each block's row and column on the axes.

    Returns:
        a trace whose customdata is [l, l'] for each cell.
    """
    texts = hover_texts(result, numbers)
    return cells.squares(at, at, numbers.blocks, numbers.blocks, texts)


def hover_texts(result: DepthResult | None, numbers: Scores) -> list[str]:
    """One text a cell, row by row."""
    missing = unmeasured(result, numbers)
    return [_hover_text(numbers, (i, j), bool(missing[i, j])) for i, j in np.ndindex(missing.shape)]


def _hover_text(numbers: Scores, cell: tuple[int, int], is_unmeasured: bool) -> str:
    row, column = (numbers.blocks[i] for i in cell)
    head = f"Jacobian of block {row} in the basis of block {column}<br>"
    if is_unmeasured:
        return head + "not measured yet"
    if row == column:
        return head + ITSELF
    if np.isnan(numbers.coupling[cell]):
        return head + "undefined: the rank of the Jacobian is below K"
    return head + cells.score_lines(
        numbers.coupling[cell], numbers.chance[cell], numbers.corrected[cell]
    )


def unmeasured(result: DepthResult | None, numbers: Scores) -> Bool[np.ndarray, "block block"]:
    """Which cells wait for a block that is not measured yet; means wait for none."""
    if result is None:
        return np.zeros(numbers.coupling.shape, bool)
    at = np.ix_(*[np.array(numbers.blocks) - 1] * 2)
    return np.isnan(result.diagonal[0, ..., 0][at])


def grey_cells(
    result: DepthResult | None,
    numbers: Scores,
    at: Float[np.ndarray, " block"],
    *,
    diagonal: bool = True,
) -> go.Heatmap | None:
    """Flat grey over the cells that are not coloured, named in the legend.

    Args:
        result: where the numbers come from; None where they are means of several.
        numbers: the scores of the cells.
        at: centre of each block's row and column on the axes.
        diagonal: whether those that compare a block with itself are grey, whatever their value.

    Returns:
        the grey cells; None where there are none.
    """
    empty, waiting = np.isnan(numbers.coupling), unmeasured(result, numbers)
    trivial = itself(numbers) & diagonal & ~empty
    reasons = [ITSELF] * bool(trivial.any())
    reasons += ["not measured yet"] * bool(waiting.any())
    reasons += ["undefined (rank below K)"] * bool((empty & ~waiting).any())
    return cells.grey(at, at, empty | trivial, ", or ".join(reasons)) if reasons else None


def outline(
    blocks: tuple[int, ...],
    at: Float[np.ndarray, " block"],
    selected: tuple[int, int],
    side: float,
) -> dict[str, object]:
    """A square round the selected pair (l, l'), where `at` are the centres of these blocks."""
    row, column = (at[blocks.index(block)] for block in selected)
    return cells.outline(column, row, side)


def _below(title: str, numbers: int) -> str:
    """A title below the numbers of an axis: plotly sets it between two where it has the room."""
    return f"<br>{title}" if numbers in (2, 4, 6) else title


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
            "title": {"text": _below(COLUMN_TITLE, len(blocks[::step]))},
            "range": [first, last],
            "constraintoward": "left",
            "tickangle": 0,
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
