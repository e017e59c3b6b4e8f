"""Axes: where they lie, what they span, their scales, grids and ticks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing import texts
from coupling_core.figures.drawing.colors import rgba
from coupling_core.figures.drawing.parts import INSTEAD

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 0.055
"""Of a range that is found from the data, beyond its ends, where there are points."""
_FORMAT = re.compile(r"(,?)\.(\d)([f%eg])")
_STEPS = {"D1": tuple(range(1, 10)), "D2": (1, 2, 5)}

Letter = Literal["x", "y"]
Data = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture, in pixels from its lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    def within(self, x: Sequence[float], y: Sequence[float]) -> "Box":
        """A part of it, by its ends in parts of 1."""
        width, height = self.right - self.left, self.top - self.bottom
        return Box(
            self.left + x[0] * width,
            self.bottom + y[0] * height,
            self.left + x[1] * width,
            self.bottom + y[1] * height,
        )


def name_of(letter: str, reference: str | None) -> str:
    """The layout's name of the axis that a trace refers to: x2 is xaxis2."""
    return f"{letter}axis{(reference or letter)[1:]}"


def span(
    axis: Mapping[str, Any], letter: str, data: Data, marks: Sequence[float] = ()
) -> tuple[float, float]:
    """Both ends of an axis in its own units; a logarithm on a log axis.

    Args:
        axis: plotly's attributes of it.
        letter: x or y.
        data: the traces of its plot.
        marks: where shapes begin and end on it.
    """
    if axis.get("range") is not None:
        low, high = (float(end) for end in axis["range"])
        return low, high
    is_log, ends, tight = axis.get("type") == "log", [], True
    for trace in data:
        at = _numbers(trace, axis, letter)
        at = at[np.isfinite(at) & (at > 0)] if is_log else at[np.isfinite(at)]
        if not at.size:
            continue
        at = np.log10(at) if is_log else at
        half = 0.5 * (at[1] - at[0] if len(at) > 1 else 1.0) if trace["type"] == "heatmap" else 0
        ends += [at.min() - half, at.max() + half]
        mode = trace.get("mode", "markers")
        tight &= trace["type"] == "heatmap" or (letter == "x" and mode == "lines")
    if not ends:
        return 0.0, 1.0
    at = np.asarray(marks, float)
    ends += [*np.log10(at[at > 0])] if is_log else [*at]
    low, high = min(ends), max(ends)
    room = (0.0 if tight else ROOM * (high - low)) if high > low else 1.0
    if axis.get("rangemode") == "tozero" and not is_log:
        return (0.0, float(high + room)) if low >= 0 else (float(low - room), max(0.0, high + room))
    return float(low - room), float(high + room)


def _numbers(trace: Mapping[str, Any], axis: Mapping[str, Any], letter: str) -> np.ndarray:
    if trace["type"] == "heatmap" and trace.get(letter) is None:
        rows, columns = np.shape(trace["z"])
        return np.arange(columns if letter == "x" else rows, dtype=float)
    own = places(trace.get(letter), axis)
    bars = trace.get(f"error_{letter}") or {}
    if bars.get("array") is None or not own.size:
        return own
    more = np.asarray(bars["array"], float)
    less = np.asarray(bars.get("arrayminus", bars["array"]), float)
    return np.concatenate([own, own + np.nan_to_num(more), own - np.nan_to_num(less)])


def places(values: Any, axis: Mapping[str, Any]) -> np.ndarray:
    """Places on an axis as numbers; of categories, their places in order."""
    given = [] if values is None else list(values)
    if axis.get("type") == "category":
        order = list(axis["categoryarray"])
        return np.array([order.index(value) for value in given], float)
    try:
        return np.array([np.nan if value is None else value for value in given], float)
    except ValueError as error:
        raise ComputeError(f"texts as places on an axis need Chromium: {INSTEAD}") from error


def shaped(box: Box, x: Mapping[str, Any], y: Mapping[str, Any], ends: Any) -> Box:
    """The box of a plot whose units are as long on one axis as on the other."""
    if not (y.get("scaleanchor") or x.get("scaleanchor")):
        return box
    (left, right), (bottom, top) = ends
    unit = min(
        (box.right - box.left) / abs(right - left), (box.top - box.bottom) / abs(top - bottom)
    )
    spare_x = box.right - box.left - unit * abs(right - left)
    spare_y = box.top - box.bottom - unit * abs(top - bottom)
    before = {"left": 0.0, "right": 1.0}.get(x.get("constraintoward", ""), 0.5)
    under = {"bottom": 0.0, "top": 1.0}.get(y.get("constraintoward", ""), 0.5)
    return Box(
        box.left + before * spare_x,
        box.bottom + under * spare_y,
        box.right - (1 - before) * spare_x,
        box.top - (1 - under) * spare_y,
    )


def prepare(axes: "Axes", letter: Letter, axis: Mapping[str, Any], ends: Any, font: Any) -> None:
    """Give an axis its ends, scale, grid and ticks."""
    own = axes.xaxis if letter == "x" else axes.yaxis
    is_log = axis.get("type") == "log"
    set_scale, set_ends = (
        (axes.set_xscale, axes.set_xlim) if letter == "x" else (axes.set_yscale, axes.set_ylim)
    )
    if is_log:
        set_scale("log")
    low, high = (10 ** np.array(ends)) if is_log else ends
    set_ends(low, high)
    if axis.get("visible") is False:
        own.set_visible(False)
        return
    at, told = _ticks(axis, ends, is_log, own)
    own.set_ticks(at, labels=told)
    own.set_ticks([], minor=True)
    size = (axis.get("tickfont") or {}).get("size", font["size"])
    color = (axis.get("tickfont") or {}).get("color", font["color"])
    angle = -float(axis.get("tickangle") or 0)
    axes.tick_params(
        axis=letter,
        length=axis.get("ticklen", 5) * texts.POINT if axis.get("ticks") == "outside" else 0,
        width=texts.POINT,
        color=rgba(axis.get("tickcolor", "#444")),
        labelsize=size * texts.POINT,
        labelcolor=rgba(color),
        pad=3 * texts.POINT,
        labelleft=axis.get("showticklabels", True) if letter == "y" else None,
        labelrotation=angle,
    )
    if angle and letter == "x":
        for label in own.get_ticklabels():
            label.set(ha="right" if angle > 0 else "left", rotation_mode="anchor", va="center")
    if axis.get("showgrid", True):
        color, width = axis.get("gridcolor", "#eee"), axis.get("gridwidth", 1)
        axes.grid(True, axis=letter, color=rgba(color), linewidth=width * texts.POINT)
    axes.set_axisbelow(True)


def _ticks(
    axis: Mapping[str, Any], ends: Sequence[float], is_log: bool, own: Any
) -> tuple[list[float], list[str]]:
    low, high = sorted(ends)
    if axis.get("tickvals") is not None:
        at = np.asarray(axis["tickvals"], float)
        told = [*map(str, axis["ticktext"])] if axis.get("ticktext") is not None else None
        inside = np.isfinite(at) & (at >= 10**low * 0.999 if is_log else at >= low - 1e-9)
        inside &= at <= 10**high * 1.001 if is_log else at <= high + 1e-9
        told = told or [_told(value, axis) for value in at]
        return list(at[inside]), [_marked(t) for t, on in zip(told, inside, strict=True) if on]
    if axis.get("type") == "category":
        order = list(axis["categoryarray"])
        return list(range(len(order))), [_marked(str(name)) for name in order]
    if is_log:
        steps = _STEPS.get(str(axis.get("dtick")), (1,) if high - low > 1.5 else (1, 2, 5))
        powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
        at = np.array([step * 10.0**power for power in powers for step in steps])
        at = at[(at >= 10 ** (low - 1e-9)) & (at <= 10 ** (high + 1e-9))]
        return list(at), [_told(value, axis) for value in at]
    if isinstance(axis.get("dtick"), int | float):
        step, first = float(axis["dtick"]), float(axis.get("tick0") or 0)
        at = np.arange(np.ceil((low - first) / step), np.floor((high - first) / step) + 1)
        at = first + at * step
    else:
        from matplotlib.ticker import MaxNLocator

        at = np.array(MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(low, high))
    at = at[(at >= low - 1e-9) & (at <= high + 1e-9)]
    return list(at), [_told(value, axis, at.tolist()) for value in at.tolist()]


def _told(value: float, axis: Mapping[str, Any], every: Sequence[float] = ()) -> str:
    """A tick's number as its axis asks, and what stands behind it."""
    return _number(value, axis, every) + (axis.get("ticksuffix") or "")


def _number(value: float, axis: Mapping[str, Any], every: Sequence[float]) -> str:
    """With as many decimals as its neighbours need, unless the axis asks for others."""
    form = axis.get("tickformat") or ""
    if form:
        found = _FORMAT.fullmatch(form)
        if not found:
            raise ComputeError(f"numbers in the form {form!r} need Chromium: {INSTEAD}")
        return format(value, f"{found[1]}.{found[2]}{found[3]}")
    if len(every) > 1:
        step = float(np.diff(every).min())
        digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
        return f"{value + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    if axis.get("exponentformat") == "power" and not 1e-3 < abs(value) < 1e4:
        power = int(np.floor(np.log10(abs(value)) + 1e-9))
        lead = (
            ""
            if round(value / 10.0**power) == 1
            else f"{round(value / 10.0**power)}\N{MULTIPLICATION SIGN}"
        )
        return f"{lead}$10^{{{power}}}$"
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _marked(text: str) -> str:
    found = texts.lines(text, 1, "black")
    return "\n".join(line.text for line in found)
