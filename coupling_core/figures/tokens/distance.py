"""The score by the distance of two tokens: the whole prompt in one curve."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import definition_name
from coupling_core.analysis.token_scores import by_distance, score_positions
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.tokens import words


def distance(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> go.Figure:
    """Mean score of all pairs of tokens at each distance |t - t'|, with its spread.

    Args:
        result: may be partial.
        view: K, definition and role.
        corrected: draw the chance-corrected score, else c.

    Returns:
        a figure with the traces "one standard deviation", "lowest and highest" and "mean".

    Raises:
        InputError: where K is not in the result.
    """
    found = by_distance(score_positions(result, view), above_chance=corrected)
    at, mean = found.distance, found.mean
    low, high = mean - found.spread, mean + found.spread
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    figure = style.new_figure(
        words.distance_alt(result, view, found, corrected),
        words.distance_caption(corrected),
        height=440,
        xaxis={"title": {"text": "Distance |t - t'| in tokens"}, "rangemode": "tozero"},
        yaxis=style.axis(
            f"{style.score_name(corrected)} ({definition_name(view)})",
            range=style.covering(fixed, found.low, found.high),
        ),
        hovermode="x unified",
    )
    figure.add_trace(
        style.band(at, low, high, "one standard deviation", color=style.ACCENTED_BAND, listed=True)
    )
    for values, shown in ((found.low, True), (found.high, False)):
        edge = style.line(at, values, "lowest and highest", width=1, line_dash="dot")
        figure.add_trace(edge.update(hoverinfo="skip", showlegend=shown))
    return figure.add_scatter(
        x=at,
        y=mean,
        mode="lines+markers",
        line={"color": style.ACCENT, "width": 2.5},
        customdata=np.stack([found.spread, found.low, found.high, found.pairs], -1),
        text=[counted(int(n), "pair") for n in found.pairs],
        hovertemplate=(
            "mean %{y:.3f}, deviation %{customdata[0]:.3f}, %{customdata[1]:.3f} to "
            "%{customdata[2]:.3f}, %{text}<extra></extra>"
        ),
        name="mean",
    )
