"""How large a map is: it keeps its shape, and takes what room its column and the window have.

Without that, plotly would leave an empty band below it in a narrow column, and beside it in a wide
one.
"""

import re

import plotly.graph_objects as go

ROUND_MAP = 234
"""Pixels above and below the map that has most of them: its colour bar, axis, legend and source.
Each is counted with as many, so that two maps side by side are of one size."""
ROUND_FIGURE = "16rem"
"""Room that the window keeps beside a figure, for what leads to it."""

FULL_SCREEN = '[data-title^="Close"]'
"""What a figure has, by CSS, while it fills the screen: the button that ends it."""


def limit(figure: go.Figure, name: str) -> str:
    """A rule of CSS that gives a figure the height which its map fills.

    Args:
        figure: its axes say what shape the map has, and how much of the width; its layout, how
            high it may be in a low window.
        name: the key of the figure, and with "@frame" that of what holds it.

    Returns:
        the rule, which any other one outweighs; "" where the figure is no map, and takes any shape.
        Nothing scrolls in it: plotly draws a map anew a moment after its room has changed.
    """
    x, y, margin = figure.layout.xaxis, figure.layout.yaxis, figure.layout.margin
    if y.scaleanchor is None or x.range is None or y.range is None or margin.l is None:
        return ""
    left, right = x.domain or (0, 1)
    shape = abs((y.range[1] - y.range[0]) / (x.range[1] - x.range[0])) * (right - left)
    key = re.sub(r"[^\w-]", "-", name, flags=re.ASCII)  # as Streamlit does
    beside, around = margin.l + margin.r, margin.t + margin.b
    most = f"max({figure.layout.height or 0}px, 100dvh - {ROUND_FIGURE})"
    map_height = f"min((100cqi - {beside}px) * {shape:.4f}, {most} - {max(ROUND_MAP, around)}px)"
    small = f":is(.stFullScreenFrame, .stPlotlyChart):not(:has({FULL_SCREEN}))"
    parts = f".st-key-{key}, .st-key-{key} {small}"
    return (
        f".st-key-{key}-frame {{ container-type: inline-size }}"
        f":where({parts}) {{ flex: none !important; overflow: visible !important; "
        f"height: calc({map_height} + {around}px) !important }}"
    )
