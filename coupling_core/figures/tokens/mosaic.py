"""The coupling matrices of all pairs of tokens as one picture (the paper's Figures 4, 15, 16)."""

import plotly.graph_objects as go

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import View
from coupling_core.base.results import TokensResult
from coupling_core.figures import cells, style
from coupling_core.figures.mosaic import GAP, cell_side, stitch
from coupling_core.figures.tokens import axes, words
from coupling_core.figures.words import leading


def mosaic(
    result: TokensResult,
    view: View,
    *,
    rows: axes.Asked | None = None,
    columns: axes.Asked | None = None,
    magnitude: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Leading corner of A (or B) of every pair of tokens, in units of s_1 of its row's Jacobian.

    Args:
        result: may be partial; cells that wait are grey.
        view: K and role; the definition only enters the hover texts.
        rows: tokens of the Jacobian that are shown, 1..n; None shows the first that fit.
        columns: tokens of the basis.
        magnitude: draw abs(A), else A with its signs.
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.
        selected: the pair (t, t') to outline.

    Returns:
        a figure whose first trace is the picture and whose trace "pairs" takes clicks, with
        customdata [t, t'].

    Raises:
        InputError: where K is not in the result.
    """
    rows, columns = axes.window(result, rows), axes.window(result, columns)
    found = score_positions(result, view)
    side = cell_side(result, view, max(len(rows), len(columns)))
    z = stitch(result, rows, columns, side, view.role, magnitude)
    pitch, offset = side + GAP, (side - 1) / 2
    figure = style.new_figure(
        words.mosaic_alt(result, view, found, side, magnitude),
        words.mosaic_caption(result, side),
        height=640,
        **axes.axes(result.tokens, rows, columns, axes.titles(result), pitch, offset),
    )
    shown = leading(view.k, side) + "; in units of s₁ of the row"
    figure.add_trace(cells.matrices(z, view, shown, magnitude=magnitude, auto_range=auto_range))
    figure.add_traces(axes.empty_cells(result, found, rows, columns, pitch, offset, diagonal=False))
    figure.add_trace(axes.points(result, found, rows, columns, pitch, offset))
    figure.update_layout(shapes=axes.outline(rows, columns, selected, pitch, offset))
    return axes.fix_margins(figure)
