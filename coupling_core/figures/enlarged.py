"""A figure for the last row of a lecture room: its letters, lines and margins larger."""

import re
from typing import Any

import plotly.graph_objects as go

_PIXELS = ("l", "r", "t", "b", "pad", "thickness", "standoff", "ticklen")
"""Lengths in pixels beside the sizes of letters, by plotly's names."""


LEAST = 20
"""Pixels of the smallest letters."""


def enlarged(figure: go.Figure, times: float) -> go.Figure:
    """A copy that is drawn so many times as large; its width is that of the page.

    Args:
        figure: stays as it is.
        times: of all letters and lengths; letters have `LEAST` pixels at least.
    """
    found = _scaled(figure.to_plotly_json(), times)
    layout = found["layout"]
    if "height" in layout:
        layout["height"] = round(times * layout["height"])
    drawn = go.Figure(found)
    for axis in (*drawn.select_xaxes(), *drawn.select_yaxes()):
        if axis.type == "log" and axis.tickvals is None:
            axis.dtick = 1  # the numbers between powers of ten are set small
    return drawn


def _scaled(part: Any, times: float, within: str = "") -> Any:
    """A part of a figure's JSON; `within` is the name that it has."""
    match part:
        case dict():
            return {name: _of(name, one, times, within) for name, one in part.items()}
        case list() | tuple():
            return [_scaled(one, times, within) for one in part]
        case str():
            return re.sub(
                r"font-size: ?([\d.]+)px",
                lambda size: f"font-size:{max(LEAST, times * float(size[1])):g}px",
                part,
            )
    return part


def _of(name: str, one: Any, times: float, within: str) -> Any:
    if name == "size" and within.endswith("font") and isinstance(one, int | float):
        return max(LEAST, times * one)
    is_length = (name == "size" and within == "marker") or (
        name in _PIXELS and within in ("margin", "colorbar", "title", "xaxis", "yaxis")
    )
    if is_length and isinstance(one, int | float) and not isinstance(one, bool):
        return times * one
    if name == "len" and isinstance(one, int | float) and one > 1:  # of a colour bar, in pixels
        return times * one
    if name == "width" and within == "line" and isinstance(one, int | float):
        return times * one
    return _scaled(one, times, name)
