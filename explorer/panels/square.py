"""How high a map is: it keeps its shape, so that in a narrow column it needs less height.

Without that, plotly would leave an empty band below it.
"""

import re

import plotly.graph_objects as go


def limit(figure: go.Figure, name: str) -> str:
    """A rule of CSS that lets a figure be no higher than its map fills.

    Args:
        figure: its axes say what shape the map has, and how much of the width.
        name: the key of the figure, and with "@frame" that of what holds it.

    Returns:
        the rule; "" where the figure is no map, and takes any shape.
    """
    x, y, margin = figure.layout.xaxis, figure.layout.yaxis, figure.layout.margin
    if y.scaleanchor is None or x.range is None or y.range is None or margin.l is None:
        return ""
    left, right = x.domain or (0, 1)
    shape = abs((y.range[1] - y.range[0]) / (x.range[1] - x.range[0])) * (right - left)
    key = re.sub(r"[^\w-]", "-", name, flags=re.ASCII)  # as Streamlit does
    return (
        f".st-key-{key}-frame {{ container-type: inline-size }}"
        f".st-key-{key}, .st-key-{key} :is(.stFullScreenFrame, .stPlotlyChart) {{ max-height: calc("
        f"(100cqi - {margin.l + margin.r}px) * {shape:.4f} + {margin.t + margin.b}px) !important }}"
    )
