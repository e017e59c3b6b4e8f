"""How many directions of each block say more than chance."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.directions import counts, viewed
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.words import subject

LABELS = {
    "writes": "what it writes",
    "reads": "what it reads",
    "reads_embedding": "what it reads, by the embedding",
}
LEAST = 5
"""Directions that the axis reaches at least, so that one or two look as few as they are."""


def readouts(
    result: DirectionsResult, view: DirectionsView, *, twin: DirectionsResult | None = None
) -> go.Figure:
    """Readouts of each block that are more peaked than those of random directions.

    Args:
        result: may be partial.
        view: blocks, and how many directions of each.
        twin: the untrained model at the same token, whose readouts are dotted lines.

    Returns:
        a figure with a trace for each readout that the model allows, and then for each of its twin.
    """
    blocks, k = viewed(result, view)
    at = np.array(blocks) - 1
    found = counts(result, k)[:, at]
    shown = [n for n, name in enumerate(READOUTS) if name not in result.missing]
    told = ", ".join(f"{found[n].mean():.1f} ({LABELS[READOUTS[n]]})" for n in shown)
    untrained = "" if twin is None else " Dotted: the untrained twin."
    figure = style.new_figure(
        f"Readouts beyond chance of {counted(k, 'direction')} a block, {subject(result)}: on "
        f"average {told or 'none can be made'}.",
        f"Of the {counted(k, 'leading direction')} of each block, how many have a readout more "
        "peaked than 99 of 100 random directions have. Of the others, the top tokens mean "
        f"nothing.{untrained}",
        height=400,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis(f"Readouts beyond chance, of {k}"),
    )
    colors, widths = (style.ACCENT, style.SECOND, style.INK), (3.5, 2, 1.5)
    for n in shown:
        name = LABELS[READOUTS[n]]
        text = f"{name}<br>l = %{{x}}: %{{y}} of {k}<extra></extra>"
        figure.add_trace(
            style.line(
                np.array(blocks), found[n], name, colors[n], widths[n], uid=READOUTS[n],
                showlegend=True, hovertemplate=text,
            )
        )  # fmt: skip
    if twin is not None:
        of_twin = counts(twin, k)[:, at]
        for n in shown:
            name = f"{LABELS[READOUTS[n]]}, untrained"
            text = f"{name}<br>l = %{{x}}: %{{y}} of {k}<extra></extra>"
            figure.add_trace(
                style.line(
                    np.array(blocks), of_twin[n], name, colors[n], 1, uid=f"{READOUTS[n]} twin",
                    line_dash="dot", hovertemplate=text, opacity=0.6, showlegend=False,
                )
            )  # fmt: skip
    by_chance = np.full(len(blocks), k / 100)
    name = "by chance, on average"
    chance = style.line(
        np.array(blocks), by_chance, name, style.INK, 1, uid="chance", line_dash="dash"
    )
    figure.add_trace(chance)
    most = max((trace.y.max() for trace in figure.data), default=0)
    return figure.update_yaxes(range=[0, min(k, max(LEAST, 1.1 * most))])
