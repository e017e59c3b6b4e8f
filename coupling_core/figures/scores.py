"""The L x L map of scores: which Jacobian acts in which block's basis."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.figures import cells, pairs, style, words


def scores(
    result: DepthResult,
    view: View,
    *,
    corrected: bool = True,
    auto_range: bool = False,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the score of every pair of the viewed blocks.

    Args:
        result: may be partial; cells that wait are grey.
        view: K, definition, role and blocks.
        corrected: draw the chance-corrected score (fixed range 0..0.25), else c (0..1).
        auto_range: stretch the colours over what is drawn, and say so on the colour bar.
        selected: the pair (l, l') to outline.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, l'].

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = score_pairs(result, view)
    z = pairs.colored(found, corrected)
    at = np.arange(len(found.blocks), dtype=np.float64)
    figure = style.new_figure(
        words.scores_alt(result, view, found, corrected),
        words.scores_caption(result, view, found, corrected),
        height=600,
        **pairs.axes(at, found.blocks, side=1),
    )
    figure.add_trace(cells.scores(at, at, z, view, corrected=corrected, auto_range=auto_range))
    grey = pairs.grey_cells(result, found, at)
    if grey:
        figure.add_trace(grey)
    figure.add_trace(pairs.points(result, found, at))
    if selected and set(selected) <= set(found.blocks):
        figure.add_shape(pairs.outline(found.blocks, at, selected, side=1))
    return style.fix_margins(figure)
