"""Traces: lines, points, texts, grounds, error bars, heatmaps and pictures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing import texts
from coupling_core.figures.drawing.axes import places
from coupling_core.figures.drawing.colors import colored, rgba
from coupling_core.figures.drawing.parts import INSTEAD

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SYMBOLS: Mapping[str, str] = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "x": "X",
    "triangle-up": "^",
    "triangle-down": "v",
    "star": "*",
    "pentagon": "p",
    "hexagon": "h",
    "line-ns": "|",
    "line-ew": "_",
}
_SMALLER = {"D": 0.72, "s": 0.9}
"""A diamond of matplotlib's is a square on its corner."""
_PLACES = {"top": ("bottom", 1), "middle": ("center", 0), "bottom": ("top", -1)}


def dashes(dash: str | None, width: float) -> Any:
    """The stretches of a dashed line, in points, as plotly has them."""
    if not dash or dash == "solid":
        return "solid"
    unit = max(3.0, width) * texts.POINT
    stretches = {"dot": (1, 1), "dash": (3, 3), "longdash": (5, 5), "dashdot": (3, 1, 1, 1)}
    if dash not in stretches:
        raise ComputeError(f"a line with the dashes {dash!r} needs Chromium: {INSTEAD}")
    return (0, tuple(unit * part for part in stretches[dash]))


def symbol(name: str | None) -> tuple[str, bool]:
    """A marker of matplotlib's, and whether it is open."""
    plain = (name or "circle").removesuffix("-open")
    if plain not in SYMBOLS:
        raise ComputeError(f"the symbol {name!r} needs Chromium: {INSTEAD}")
    return SYMBOLS[plain], name != plain and name is not None


def scatter(
    axes: "Axes",
    trace: Mapping[str, Any],
    x: Any,
    y: Any,
    order: float,
    font: Any,
    before: Mapping[str, Any] | None = None,
) -> None:
    """A trace of lines, points and texts; the one before it may bound its ground."""
    at_x, at_y = (places(trace.get(letter), axis) for letter, axis in (("x", x), ("y", y)))
    if not (np.isfinite(at_x) & np.isfinite(at_y)).any():
        return
    mode, opacity = trace.get("mode") or "lines", float(trace.get("opacity") or 1.0)
    if trace.get("fill") == "tonexty":
        _between(axes, trace, before or {}, at_x, at_y, order)
    elif trace.get("fill") not in (None, "none"):
        _fill(axes, trace, at_x, at_y, opacity, order)
    if "lines" in mode:
        line = trace.get("line") or {}
        width = float(line.get("width", 2))
        axes.plot(
            at_x,
            at_y,
            color=rgba(line.get("color") or trace["color"], opacity),
            linewidth=width * texts.POINT,
            linestyle=dashes(line.get("dash"), width) if width else "none",
            zorder=order,
            clip_on=True,
        )
    _bars(axes, trace, at_x, at_y, order)
    if "markers" in mode:
        _points(axes, trace, at_x, at_y, opacity, order)
    if "text" in mode:
        _words(axes, trace, at_x, at_y, order, font)


def _between(
    axes: "Axes",
    trace: Mapping[str, Any],
    before: Mapping[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    order: float,
) -> None:
    """The ground between a trace and the one before it, over the same places."""
    other_x, other_y = (np.asarray(before.get(letter, ()), float) for letter in "xy")
    if not np.array_equal(x, other_x) or not trace.get("fillcolor"):
        raise ComputeError(f"a ground between other lines needs Chromium: {INSTEAD}")
    axes.fill_between(x, other_y, y, facecolor=rgba(trace["fillcolor"]), linewidth=0, zorder=order)


def _fill(
    axes: "Axes",
    trace: Mapping[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    opacity: float,
    order: float,
) -> None:
    if trace["fill"] != "toself":
        raise ComputeError(f"a ground of the form {trace['fill']!r} needs Chromium: {INSTEAD}")
    pattern = trace.get("fillpattern") or {}
    if pattern.get("shape") not in (None, "", "/"):
        raise ComputeError(f"a ground hatched {pattern['shape']!r} needs Chromium: {INSTEAD}")
    hatched = bool(pattern.get("shape"))
    color = pattern.get("bgcolor") if hatched else trace.get("fillcolor")
    if color is None:
        raise ComputeError(f"a ground without its own colour needs Chromium: {INSTEAD}")
    breaks = np.flatnonzero(~(np.isfinite(x) & np.isfinite(y)))
    for part in np.split(np.arange(len(x)), breaks):
        inside = part[np.isfinite(x[part]) & np.isfinite(y[part])]
        axes.fill(
            x[inside],
            y[inside],
            facecolor=rgba(color, opacity),
            edgecolor=rgba(pattern["fgcolor"], 0.5) if hatched else "none",
            hatch="////" if hatched else None,
            linewidth=0,
            zorder=order,
        )


def _bars(axes: "Axes", trace: Mapping[str, Any], x: Any, y: Any, order: float) -> None:
    for letter in "xy":
        bars = trace.get(f"error_{letter}") or {}
        if bars.get("array") is None or not len(x):
            continue
        more = np.asarray(bars["array"], float)
        less = np.asarray(bars.get("arrayminus", bars["array"]), float)
        known = np.isfinite(more) & np.isfinite(less)
        if not known.any():
            continue
        span = np.stack([less[known], more[known]])
        thick = float(bars.get("thickness", 2)) * texts.POINT
        axes.errorbar(
            x[known],
            y[known],
            xerr=span if letter == "x" else None,
            yerr=span if letter == "y" else None,
            fmt="none",
            ecolor=rgba(bars.get("color") or trace["color"]),
            elinewidth=thick,
            capsize=float(bars.get("width", 4)) * texts.POINT,
            capthick=thick,
            zorder=order,
        )


def _points(
    axes: "Axes",
    trace: Mapping[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    opacity: float,
    order: float,
) -> None:
    marker = trace.get("marker") or {}
    n = len(x)
    shown = np.broadcast_to(np.asarray(marker.get("opacity", 1), float), n) * opacity
    size = np.broadcast_to(np.asarray(marker.get("size", 6), float), n)
    symbols = marker.get("symbol")
    every = [symbols] * n if symbols is None or isinstance(symbols, str) else list(symbols)
    inside = _colors(marker, trace, n)
    rim = marker.get("line") or {}
    rims, widths = _each(rim.get("color"), n), _each(rim.get("width"), n)
    for name in dict.fromkeys(every):
        form, is_open = symbol(name)
        at = np.array([one == name for one in every]) & (shown > 0) & (size > 0)
        at &= np.isfinite(x) & np.isfinite(y)
        if not at.any():
            continue
        chosen = np.flatnonzero(at)
        body = inside[at] * np.c_[np.ones((len(chosen), 3)), shown[at]]
        lines = is_open or form in "|_"
        edges = [
            rgba(rims[i]) if rims[i] is not None and not lines else body[j]
            for j, i in enumerate(chosen)
        ]
        width = [
            float(widths[i] if widths[i] is not None else (1.0 if lines else 0.0)) for i in chosen
        ]
        axes.scatter(
            x[at],
            y[at],
            s=(size[at] * texts.POINT * _SMALLER.get(form, 1.0)) ** 2,
            marker=form,
            facecolors=body if form in "|_" else "none" if lines else body,
            edgecolors=None if form in "|_" else edges,
            linewidths=[one * texts.POINT for one in width],
            zorder=order,
        )


def _each(value: Any, n: int) -> list[Any]:
    if value is None or isinstance(value, str | int | float):
        return [value] * n
    return list(value)


def _colors(marker: Mapping[str, Any], trace: Mapping[str, Any], n: int) -> np.ndarray:
    given = marker.get("color")
    if given is None or isinstance(given, str):
        return np.tile(
            rgba(given or (trace.get("line") or {}).get("color") or trace["color"]), (n, 1)
        )
    given = list(given)
    if all(isinstance(one, str) for one in given):
        return np.array([rgba(one) for one in given]).reshape(-1, 4)
    if "colorscale" not in marker or "cmin" not in marker:
        raise ComputeError(f"points coloured by numbers without a scale need Chromium: {INSTEAD}")
    numbers = np.array([np.nan if one is None else one for one in given], float)
    return colored(numbers, marker["cmin"], marker["cmax"], marker["colorscale"])


def _words(
    axes: "Axes", trace: Mapping[str, Any], x: np.ndarray, y: np.ndarray, order: float, font: Any
) -> None:
    look = trace.get("textfont") or {}
    told = trace.get("text")
    every = [told] * len(x) if isinstance(told, str) else list(told if told is not None else ())
    colors = _each(look.get("color", font["color"]), len(x))
    place = trace.get("textposition") or "middle center"
    if not isinstance(place, str):
        raise ComputeError(f"texts at different sides of their points need Chromium: {INSTEAD}")
    up, across = place.split()
    va, away = _PLACES[up]
    gap = np.broadcast_to(np.asarray((trace.get("marker") or {}).get("size", 6), float), len(x))
    for at, text in enumerate(every):
        if not text or not np.isfinite([x[at], y[at]]).all():
            continue
        for line in texts.lines(str(text), look.get("size", font["size"]), colors[at]):
            axes.annotate(
                line.text,
                (x[at], y[at]),
                xytext=(0, away * (gap[at] / 2 + 1) * texts.POINT),
                textcoords="offset points",
                ha={"left": "right", "right": "left"}.get(across, "center"),
                va=va,
                **line.look,
                color=rgba(line.color),
                zorder=order,
            )


def heatmap(axes: "Axes", trace: Mapping[str, Any], scale: Mapping[str, Any], order: float) -> None:
    """A heatmap whose cells are all of one size."""
    z = np.asarray(trace["z"], float)
    sides = [_edges(trace.get(letter), n) for letter, n in (("x", z.shape[1]), ("y", z.shape[0]))]
    (left, right), (first, last) = sides
    if axes.get_xscale() == "log" or axes.get_yscale() == "log":
        raise ComputeError(f"a heatmap on a log axis needs Chromium: {INSTEAD}")
    low, high = scale.get("zmin", scale.get("cmin")), scale.get("zmax", scale.get("cmax"))
    if low is None:
        known = z[np.isfinite(z)]
        low, high = (known.min(), known.max()) if known.size else (0, 1)
    colors = colored(z, float(low), float(high), scale["colorscale"])
    if trace.get("xgap") or trace.get("ygap"):
        columns, rows = (
            np.linspace(left, right, z.shape[1] + 1),
            np.linspace(first, last, len(z) + 1),
        )
        gap = max(trace.get("xgap") or 0, trace.get("ygap") or 0) * texts.POINT
        axes.pcolormesh(columns, rows, colors, edgecolors="white", linewidth=gap, zorder=order)
        return
    _picture(axes, colors, (left, right, last, first), order)


def _edges(given: Any, n: int) -> tuple[float, float]:
    at = np.arange(n, dtype=float) if given is None else np.asarray(given, float)
    steps = np.diff(at)
    if len(steps) and not np.allclose(steps, steps[0], rtol=1e-6):
        raise ComputeError(f"a heatmap with cells of several sizes needs Chromium: {INSTEAD}")
    half = (steps[0] if len(steps) else 1.0) / 2
    return float(at[0] - half), float(at[-1] + half)


def image(axes: "Axes", trace: Mapping[str, Any], order: float) -> None:
    """A picture, its first row on top where the axis runs downwards."""
    pixels = np.asarray(trace["z"])
    rows, columns = pixels.shape[:2]
    _picture(axes, pixels, (-0.5, columns - 0.5, rows - 0.5, -0.5), order)


def _picture(
    axes: "Axes", colors: np.ndarray, extent: tuple[float, float, float, float], order: float
) -> None:
    ends = axes.get_xlim(), axes.get_ylim()  # which showing a picture would change
    axes.imshow(
        colors,
        extent=extent,
        origin="upper",
        aspect="auto",
        interpolation="nearest",
        zorder=order,
    )
    axes.set(xlim=ends[0], ylim=ends[1])
