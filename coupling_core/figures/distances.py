"""The mean score by the distance of two blocks, or of two tokens."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.locality import by_distance
from coupling_core.analysis.locality import locality as measure_locality
from coupling_core.analysis.scores import definition_name, score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.curves import Curves
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, TokenMeansResult, TokensResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, chance, curves, one_deviation

LOCALITY = Curves(
    x="distance",
    y="Mean {name}",
    caption="Mean over all pairs of blocks at each distance, whatever the threshold; the band is "
    "one standard deviation over them. A curve that falls towards {level} is locality: near blocks "
    "are coupled more than far ones. At the largest distances few pairs are left.",
    height=420,
)
DISTANCE = Curves(
    x="Distance |t - t'| in tokens",
    y="{name} ({definition})",
    caption="Mean score of all pairs of tokens at each distance. The band is one standard "
    "deviation, the dotted lines the lowest and the highest pair.{zero} Long distances have few "
    "pairs.",
    height=440,
)


def locality(result: DepthResult, view: View, *, corrected: bool = True) -> go.Figure:
    """Mean score over the pairs at each distance |l - l'|, with the spread over them."""
    found = measure_locality(score_pairs(result, view), corrected=corrected)
    low, high = found.mean - found.spread, found.mean + found.spread
    name = f"mean ({definition_name(view)}; K = {view.k})"
    more = {
        "customdata": np.stack([found.spread, found.pairs], 1),
        "text": [counted(int(n), "pair") for n in found.pairs],
        "hovertemplate": "%{y:.3f} ± %{customdata[0]:.3f} over %{text}<extra>mean</extra>",
    }
    mean = Series(name, found.distance, found.mean, style.ACCENT, 2.5, marks=5, more=more)
    return curves(
        [chance(found.distance, found.chance), one_deviation(mean, found.spread)],
        LOCALITY,
        result.subject,
        {
            "name": style.score_name(corrected).lower(),
            "level": "0" if corrected else "the chance line",
        },
        xaxis={"range": [0, max(found.distance, default=1) + 1]},
        yaxis={"range": style.score_range(corrected, low, high)},
    )


def distance(
    result: TokensResult | TokenMeansResult, view: View, *, corrected: bool = True
) -> go.Figure:
    """Mean score of all pairs of tokens at each distance |t - t'|, with its spread."""
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
    return curves(
        [*edges, one_deviation(mean, found.spread)],
        DISTANCE,
        result.subject,
        words,
        xaxis={"rangemode": "tozero"},
        yaxis={"range": style.score_range(corrected, found.low, found.high)},
    )
