"""The score of two blocks against how many blocks apart they are."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.locality import locality as measure_locality
from coupling_core.analysis.scores import definition_name
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted
from coupling_core.figures import graph_words, style


def locality(result: DepthResult, view: View, *, corrected: bool = True) -> go.Figure:
    """Mean score over the pairs at each distance |l - l'|, with the spread over them.

    Args:
        result: may be partial; pairs without a score do not count.
        view: K, definition, role and blocks.
        corrected: the chance-corrected score, else c beside its floor.

    Returns:
        a figure with the traces "chance", "one standard deviation" and "mean"; customdata of the
        last is the number of pairs.

    Raises:
        InputError: where K or a block is not in the result.
    """
    found = measure_locality(result, view, corrected=corrected)
    fixed = style.CORRECTED_RANGE if corrected else style.RAW_RANGE
    low, high = found.mean - found.spread, found.mean + found.spread
    figure = style.new_figure(
        graph_words.locality_alt(result, view, found),
        graph_words.locality_caption(corrected),
        height=420,
        xaxis={
            "title": {"text": "Distance |l - l'| (blocks)"},
            "range": [0, max(found.distance, default=1) + 1],
        },
        yaxis=style.axis(
            f"Mean {style.score_name(corrected).lower()}", range=style.covering(fixed, low, high)
        ),
        hovermode="x unified",
    )
    chance = style.line(found.distance, found.chance, "chance", width=1.5, line_dash="dash")
    figure.add_trace(chance.update(hovertemplate="%{y:.3f}"))
    known = ~np.isnan(found.mean)
    figure.add_trace(
        style.band(
            found.distance[known],
            low[known],
            high[known],
            "one standard deviation",
            color=style.ACCENTED_BAND,
            listed=True,
        )
    )
    return figure.add_scatter(
        x=found.distance,
        y=found.mean,
        customdata=np.stack([found.spread, found.pairs], 1),
        text=[counted(int(n), "pair") for n in found.pairs],
        name=f"mean ({definition_name(view)}; K = {view.k})",
        mode="lines+markers",
        line={"color": style.ACCENT, "width": 2.5},
        marker={"size": 5},
        hovertemplate="%{y:.3f} ± %{customdata[0]:.3f} over %{text}<extra>mean</extra>",
    )
