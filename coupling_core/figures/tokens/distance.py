"""The score by the distance of two tokens: the whole prompt in one curve."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.scores import definition_name
from coupling_core.analysis.token_scores import by_distance, score_positions
from coupling_core.base.curves import Curves
from coupling_core.base.records import View
from coupling_core.base.results import TokenMeansResult, TokensResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves, one_deviation
from coupling_core.figures.words import subject

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

DISTANCE = Curves(
    x="Distance |t - t'| in tokens",
    y="{name} ({definition})",
    caption="Mean score of all pairs of tokens at each distance. The band is one standard "
    "deviation, the dotted lines the lowest and the highest pair.{zero} Long distances have few "
    "pairs.",
    height=440,
)


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
    found = by_distance(score_positions(result, view), corrected=corrected)
    x = found.distance
    edges = [
        Series("lowest and highest", x, y, width=1, dash="dot", hover=False, more=more)
        for y, more in ((found.low, {}), (found.high, {"showlegend": False}))
    ]
    more = {
        "customdata": np.stack([found.spread, found.low, found.high, found.pairs], -1),
        "text": [counted(int(n), "pair") for n in found.pairs],
        "hovertemplate": "mean %{y:.3f}, deviation %{customdata[0]:.3f}, "
        "%{customdata[1]:.3f} to %{customdata[2]:.3f}, %{text}<extra></extra>",
    }
    mean = Series("mean", x, found.mean, style.ACCENT, 2.5, marks=6, more=more)
    words = {
        "name": style.score_name(corrected),
        "definition": definition_name(view),
        "zero": " 0 is the chance level." * corrected,
    }
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    return curves(
        [*edges, one_deviation(mean, found.mean - found.spread, found.mean + found.spread)],
        DISTANCE,
        subject(result),
        words,
        xaxis={"rangemode": "tozero"},
        yaxis={"range": style.covering(fixed, found.low, found.high)},
    )


def distance_table(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> "DataFrame":
    """Twin of the curve: columns distance, mean, spread, low, high, pairs."""
    return by_distance(score_positions(result, view), corrected=corrected).to_pandas()
