"""All coupling matrices of the viewed blocks as one picture (the paper's Figure 3)."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float32

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import ROLES, View
from coupling_core.base.results import DepthResult, TokensResult
from coupling_core.figures import cells, pairs, style, words

MOST_PIXELS = 600
"""Side of the whole picture: one array cell then has at least a pixel on the screen."""
GAP = 2


def mosaic(
    result: DepthResult, view: View, *, magnitude: bool = True, auto_range: bool = False
) -> go.Figure:
    """Leading corner of A (or B) of every pair, each in units of s_1 of its row's Jacobian.

    One stitched heatmap with gaps, for a plot a pair would be too much for any browser.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, role and blocks; the definition only enters the hover texts.
        magnitude: draw abs(A), else A with its signs.
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.

    Returns:
        a figure whose first trace is the picture and whose trace "pairs" takes clicks, with
        customdata [l, l'].

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    side = cell_side(result, view, len(found.blocks))
    z = stitch(result, found.blocks, found.blocks, side, view.role, magnitude)
    pitch = side + GAP
    at = np.arange(len(found.blocks)) * pitch + (side - 1) / 2
    figure = style.new_figure(
        words.mosaic_alt(result, view, found, side, magnitude),
        words.mosaic_caption(side),
        height=760,
        **pairs.axes(at, found.blocks, pitch),
    )
    shown = words.leading(view.k, side) + "; in units of s₁ of block l"
    figure.add_trace(cells.matrices(z, view, shown, magnitude=magnitude, auto_range=auto_range))
    grey = pairs.grey_cells(result, found, at, diagonal=False)
    if grey:
        figure.add_trace(grey.update(xgap=1, ygap=1))
    figure.add_trace(pairs.points(result, found, at))
    return style.fix_margins(figure)


def cell_side(result: DepthResult | TokensResult, view: View, count: int) -> int:
    """How many leading triplets a cell shows: what K, the stored corner and the screen allow."""
    fits = (MOST_PIXELS + GAP) // count - GAP
    return max(1, min(view.k, result.k_view, fits))


def stitch(
    result: DepthResult | TokensResult,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    side: int,
    role: str,
    magnitude: bool,
) -> Float32[np.ndarray, "row_pixel column_pixel"]:
    """The corners of these blocks (or tokens) side by side in one array, NaN between them."""
    at = np.ix_(np.array(rows) - 1, np.array(columns) - 1)
    corners = result.matrices[ROLES.index(role)][at][..., :side, :side]
    pitch = side + GAP
    tiles = np.full((len(rows), pitch, len(columns), pitch), np.nan, np.float32)
    tiles[:, :side, :, :side] = corners.transpose(0, 2, 1, 3)  # (row, u, column, v)
    whole = tiles.reshape(len(rows) * pitch, len(columns) * pitch)[:-GAP, :-GAP]
    return np.abs(whole) if magnitude else whole
