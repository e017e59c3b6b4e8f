"""What directions do to what the model says, by how much of them is added."""

from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.trials import UNITS, Steering
from coupling_core.figures import style


def steering(found: Steering) -> go.Figure:
    """The change of each direction at each size, beside random directions of the same sizes.

    Args:
        found: what they do.

    Returns:
        a figure with the traces "random directions" (their range), "random, median", and one a
        direction.
    """
    order = np.argsort(found.sizes)
    sizes, chance = np.array(found.sizes)[order], found.by_chance[:, order]
    unit, n = UNITS[found.measured_of], len(chance)
    figure = style.new_figure(
        f"Change of what the model says ({unit}) by the size of what is added to {found.where}: "
        f"{found.verdict}",
        f"How far what the model says moves when a direction is added to {found.where}, by the "
        f"size of what is added. The grey ground is the range of {n} random directions: a "
        "direction does something of its own only where its curve lies above that ground.",
        height=380,
        xaxis={"title": {"text": "Size e (norms of the state)"}},
        yaxis=style.axis(f"Change ({unit})", rangemode="tozero"),
        hovermode="x unified",
    )
    name = f"{n} random directions"
    figure.add_trace(style.band(sizes, chance.min(0), chance.max(0), name, listed=True))
    median = style.line(sizes, np.median(chance, 0), "random, median", width=1.5, line_dash="dash")
    figure.add_trace(median.update(hovertemplate="%{y:.3g}"))
    for which, changes, color in zip(
        found.names, found.divergence, cycle(style.CATEGORIES), strict=False
    ):
        line = style.line(sizes, changes[order], which, color)
        figure.add_trace(line.update(mode="lines+markers", hovertemplate="%{y:.3g}"))
    return figure
