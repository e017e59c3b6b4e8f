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
        "A - B of every pair of tokens: red where A is coupled more, blue where B is, and the "
        "colour of the page where the two agree. Differences beyond the colour bar are drawn in "
        "the colours at its ends.",
        height=640,
        **axes.axes(found.a.tokens, shown, shown, "Token of the Jacobian|Token of the basis"),
    )
    x = np.arange(len(shown))
    a, b = (values[at] for values in (found.a_values, found.b_values))
    figure.add_heatmap(
        x=x,
        y=x,
        z=z,
        customdata=np.dstack([a, b]),
        zmin=-style.DIFFERENCE_LIMIT,
        zmax=style.DIFFERENCE_LIMIT,
        colorscale=style.DIVERGING,
        colorbar=style.color_bar(
            f"A - B, {style.score_name(found.corrected).lower()}", style.score_terms(found.view)
        ),
        hovertemplate="A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>A - B %{z:.3f}"
        "<extra></extra>",
        name="difference",
    )
    if np.isnan(z).any():
        reason = "a Jacobian with itself, or no score in one of the two"
        figure.add_trace(cells.grey(x, x, np.isnan(z), reason))
    title = f"{words.subject(found.a)} against {words.subject(found.b)}"
    left, right = (words.provenance(result, found.view) for result in (found.a, found.b))
    meta = figure.layout.meta | {"title": title, "source": f"A: {left}. B: {right}."}
    return axes.fix_margins(figure.update_layout(meta=meta))
