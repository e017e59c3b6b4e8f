"""The L x L map of scores: which Jacobian acts in which block's basis."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.figures import cells, pairs, style, words


def scores(
    result: DepthResult,
    view: View,
    *,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
    limit: float = style.CORRECTED_RANGE[1],
) -> go.Figure:
    """Map of the score of every pair of the viewed blocks.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, definition, role and blocks.
        corrected: draw the chance-corrected score (in a fixed range), else c (0..1).
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.
        selected: the pair (l, l') to outline.
        limit: end of the fixed range of the chance-corrected score, which begins at 0.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'].

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    alt = words.scores_alt(words.subject(result), view, found, corrected)
    caption = words.scores_caption(result, view, found, corrected)
    figure = style.new_figure(alt, caption, height=600)
    return fill(figure, result, found, view, corrected, auto_range, selected, limit)


def fill(
    figure: go.Figure,
    result: DepthResult | None,
    found: Scores,
    view: View,
    corrected: bool,
    auto_range: bool,
    selected: tuple[int, int] | None,
    limit: float = style.CORRECTED_RANGE[1],
) -> go.Figure:
    """Draw the map into a figure; `result` is None of means of several, the rest as above."""
    at = np.arange(len(found.blocks), dtype=np.float64)
    z = pairs.colored(found, corrected)
    figure.update_layout(**pairs.axes(at, found.blocks, side=1))
    figure.add_trace(
        cells.scores(at, at, z, view, corrected=corrected, auto_range=auto_range, limit=limit)
    )
    grey = pairs.grey_cells(result, found, at)
    if grey:
        figure.add_trace(grey)
    figure.add_trace(pairs.points(result, found, at))
    if selected and set(selected) <= set(found.blocks):
        figure.add_shape(pairs.outline(found.blocks, at, selected, side=1))
    return style.fix_margins(figure)
