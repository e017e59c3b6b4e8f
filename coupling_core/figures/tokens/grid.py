"""The score of every pair of tokens, with their texts on the axes."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.figures import cells, style
from coupling_core.figures.tokens import axes, words


def grid(
    result: TokensResult | TokenMeansResult,
    view: View,
    *,
    rows: axes.Asked | None = None,
    columns: axes.Asked | None = None,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the score of every pair of tokens.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, definition and role.
        rows: tokens of the Jacobian that are shown, 1..n; None shows the first that fit.
        columns: tokens of the basis.
        corrected: draw the chance-corrected score (fixed range 0..0.25), else c (0..1).
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.
        selected: the pair (t, t') to outline.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [t, t'].

    Raises:
        InputError: where K is not in the result.
    """
    rows, columns = axes.window(result, rows), axes.window(result, columns)
    found = score_positions(result, view)
    z = axes.values(found, corrected, rows, columns)
    figure = style.new_figure(
        words.grid_alt(result, view, found, corrected, (rows, columns)),
        words.grid_caption(result, view, found, corrected),
        height=640,
        **axes.axes(result.tokens, rows, columns, axes.titles(result)),
    )
    x, y = np.arange(len(columns)), np.arange(len(rows))
    figure.add_trace(cells.scores(x, y, z, view, corrected=corrected, auto_range=auto_range))
    figure.add_traces(axes.empty_cells(result, found, rows, columns))
    figure.add_trace(axes.points(result, found, rows, columns))
    figure.update_layout(shapes=axes.outline(rows, columns, selected))
    return axes.fix_margins(figure)
