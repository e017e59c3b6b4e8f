"""Two results between the tokens of one prompt: A - B of every pair."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.token_comparison import TokenComparison
from coupling_core.figures import words
from coupling_core.figures.score_squares import window
from coupling_core.figures.squares import (
    DIFFERENCES_READ,
    Square,
    difference_look,
    grey,
)


def token_difference(found: TokenComparison) -> go.Figure:
    """A - B of every pair of tokens, in a diverging range round 0.

    Args:
        found: the comparison.

    Returns:
        a figure whose first trace is the map, with the tokens' texts on its axes.
    """
    shown = window(found.a, None)
    square = Square(
        rows=shown,
        columns=shown,
        titles=("Token of the Jacobian", "Token of the basis"),
        texts=found.a.tokens,
    )
    at = np.ix_(*(np.array(shown) - 1,) * 2)
    z = np.where(found.counted, found.difference, np.nan)[at].astype(np.float32)
    a, b = (values[at] for values in (found.a_values, found.b_values))
    colors = square.heatmap(
        z,
        **difference_look(found.view, corrected=found.corrected),
        customdata=np.dstack([a, b]),
        hovertemplate="A %{customdata[0]:.3f}, B %{customdata[1]:.3f}<br>A - B %{z:.3f}"
        "<extra></extra>",
    )
    reason = np.full(z.shape, "a Jacobian with itself, or no score in one of the two")
    empty = [grey(square.x, square.y, np.isnan(z), reason)] if np.isnan(z).any() else []
    left, right = (words.provenance(result, found.view) for result in (found.a, found.b))
    return square.figure(
        found.verdict,
        f"A - B of every pair of tokens: {DIFFERENCES_READ}",
        [colors, *empty],
        height=640,
        told={
            "title": f"{words.subject(found.a)} against {words.subject(found.b)}",
            "source": f"A: {left}. B: {right}.",
        },
    )
