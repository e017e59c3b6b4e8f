"""A figure for the last row of a lecture room: its letters, lines and margins larger."""

import re
from typing import Any

import plotly.graph_objects as go

LEAST = 20
"""Pixels of the smallest letters."""
_FRAMES = ("margin", "colorbar", "title", "xaxis", "yaxis")
_LENGTHS = {
    **dict.fromkeys(("l", "r", "t", "b", "pad", "thickness", "standoff", "ticklen"), _FRAMES),
    "size": ("marker",),
    "width": ("line",),
}
"""Lengths in pixels by plotly's names, and the parts that have them."""


def enlarged(figure: go.Figure, times: float) -> go.Figure:
    """A copy whose letters and lengths are so many times as large; its width is the page's."""
    larger = _scaled(figure.to_plotly_json(), times)
    layout = larger["layout"]
    if "height" in layout:
        layout["height"] = round(times * layout["height"])
    found = go.Figure(larger)
    for axis in (*found.select_xaxes(), *found.select_yaxes()):
        if axis.type == "log" and axis.tickvals is None:
            axis.dtick = 1  # the numbers between powers of ten are set small
    return found


def _scaled(part: Any, times: float, name: str = "", within: str = "") -> Any:
    """A part of a figure's JSON, by its name and that of the part that has it."""
    match part:
        case dict():
            return {key: _scaled(one, times, key, name) for key, one in part.items()}
        case list() | tuple():
            return [_scaled(one, times, name) for one in part]
        case str():
            return re.sub(
                r"font-size: ?([\d.]+)px",
                lambda size: f"font-size:{max(LEAST, times * float(size[1])):g}px",
                part,
            )
        case int() | float() if not isinstance(part, bool):
            if name == "size" and within.endswith("font"):
                return max(LEAST, times * part)
            is_bar = name == "len" and part > 1  # of a colour bar, in pixels
            return times * part if is_bar or within in _LENGTHS.get(name, ()) else part
    return part
