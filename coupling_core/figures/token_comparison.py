"""Two results between the tokens of one prompt: A - B of every pair."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.token_comparison import TokenComparison
from coupling_core.figures import cells, style, words
from coupling_core.figures.tokens import axes


def token_difference(found: TokenComparison) -> go.Figure:
    """A - B of every pair of tokens, in a diverging range round 0.

    Args:
        found: the comparison.

    Returns:
        a figure whose first trace is the map, with the tokens' texts on its axes.
    """
    shown = axes.window(found.a, None)
    at = np.ix_(*(np.array(shown) - 1,) * 2)
    z = np.where(found.counted, found.difference, np.nan)[at].astype(np.float32)
    figure = style.new_figure(
        found.verdict,
        f"A - B of every pair of tokens: {cells.DIFFERENCES_READ}",
        height=640,
        **axes.axes(found.a.tokens, shown, shown, "Token of the Jacobian|Token of the basis"),
    )
    x = np.arange(len(shown))
    a, b = (values[at] for values in (found.a_values, found.b_values))
    hover = {
        "customdata": np.dstack([a, b]),
        "hovertemplate": "A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>A - B %{z:.3f}"
        "<extra></extra>",
    }
    figure.add_trace(cells.differences(x, x, z, found.view, corrected=found.corrected, **hover))
    if np.isnan(z).any():
        reason = "a Jacobian with itself, or no score in one of the two"
        figure.add_trace(cells.grey(x, x, np.isnan(z), reason))
    title = f"{words.subject(found.a)} against {words.subject(found.b)}"
    left, right = (words.provenance(result, found.view) for result in (found.a, found.b))
    meta = figure.layout.meta | {"title": title, "source": f"A: {left}. B: {right}."}
    return axes.fix_margins(figure.update_layout(meta=meta))
