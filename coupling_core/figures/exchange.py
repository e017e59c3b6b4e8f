"""What first order predicts of interchanging two neighbours, against what it does."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.results import WhatIfResult
from coupling_core.figures import style
from coupling_core.figures.words import subject

if TYPE_CHECKING:
    from pandas import DataFrame


def exchange(result: WhatIfResult) -> go.Figure:
    """Predicted against true change of the state, a point for each pair of neighbours.

    Args:
        result: may be partial; a pair that cannot be interchanged has no point.

    Returns:
        a figure with the trace "exact", where prediction and truth agree, and the trace
        "neighbours", whose customdata is [l, l + 1].
    """
    lower, true, predicted, cosine = _medians(result)
    low, high = style.span(np.concatenate([true, predicted]))
    figure = style.new_figure(
        f"First-order prediction of interchanging neighbours against the truth, {subject(result)}: "
        + (f"median cosine {np.median(cosine):.2f}." if cosine.size else "no pair can be run."),
        "A point for each pair of neighbours: how much interchanging the two changes the state "
        "behind them, relative to its norm, median over the tokens. On the dotted line the first "
        "order, which vanishes where two blocks commute, predicts the size of the change. Coupled "
        "blocks need not commute.",
        {
            "on_page": "The cosine that the mouse shows says whether it predicts the direction of "
            "the change too."
        },
        height=400,
        xaxis=style.axis("Predicted to first order") | style.log_axis(predicted),
        yaxis=style.axis("True relative change") | style.log_axis(true),
    )
    figure.add_trace(
        go.Scatter(
            x=[low, high], y=[low, high], mode="lines", line=style.DOTTED, name="exact",
            hoverinfo="skip", showlegend=False,
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=predicted,
            y=true,
            mode="markers",
            marker={
                "size": 8,
                "color": lower,
                "cmin": 1,
                "cmax": result.n_blocks,
                "colorscale": style.DEPTH,
            },
            customdata=np.stack([lower, lower + 1, cosine], 1),
            name="neighbours",
            showlegend=False,
            hovertemplate="blocks %{customdata[0]} and %{customdata[1]}<br>predicted %{x:.3g}, "
            "true %{y:.3g}<br>cosine %{customdata[2]:.3f}<extra></extra>",
        )
    )
    return figure


def exchange_table(result: WhatIfResult) -> "DataFrame":
    """The same numbers: a row for each pair of neighbours."""
    from pandas import DataFrame

    lower, true, predicted, cosine = _medians(result)
    return DataFrame({"l": lower, "true": true, "predicted": predicted, "cosine": cosine})


def _medians(result: WhatIfResult) -> tuple[np.ndarray, ...]:
    """The l of pairs that were run; true and predicted change and their cosine, over the tokens."""
    named = (result.exchange_true, result.exchange_predicted, result.exchange_cosine)
    some = np.all([np.isfinite(values).any(1) for values in named], axis=0)
    return np.flatnonzero(some) + 1, *(np.nanmedian(values[some], axis=1) for values in named)
