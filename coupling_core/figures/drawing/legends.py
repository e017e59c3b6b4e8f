"""Legends: a sample of each named trace with its name, in rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.figures.drawing import texts
from coupling_core.figures.drawing.axes import Box
from coupling_core.figures.drawing.colors import rgba, scale
from coupling_core.figures.drawing.traces import dashes, symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE, APART, ROW = 30, 14, 20
"""Pixels of a sample, between two entries, and of a row."""


@dataclass(frozen=True)
class Legend:
    """A legend laid out.

    Args:
        look: plotly's attributes of it.
        rows: of its entries, each with the pixels from its left end.
        title: over them; "" for none.
        height: of all, in pixels.
    """

    look: Mapping[str, Any]
    rows: list[list[tuple[float, Mapping[str, Any]]]]
    title: str
    height: float


def entries(
    data: list[dict[str, Any]], layout: Mapping[str, Any], name: str
) -> list[Mapping[str, Any]]:
    """The traces that a legend names."""
    if layout.get("showlegend") is False:
        return []
    kinds = ("scatter", "scattergl")
    able = [t for t in data if t["type"] in kinds or t.get("showlegend")]
    if layout.get("showlegend") is not True and len(able) < 2:
        able = [t for t in able if t.get("showlegend")]
    return [t for t in able if t.get("showlegend", True) and t.get("legend", "legend") == name]


def lay_out(
    figure: "Figure",
    named: list[Mapping[str, Any]],
    look: Mapping[str, Any],
    room: float,
    font: Any,
) -> Legend:
    """Entries side by side, as many as there is room for in a row."""
    size = (look.get("font") or {}).get("size", font["size"] - 1)
    rows: list[list[tuple[float, Mapping[str, Any]]]] = [[]]
    left = 0.0
    for trace in named:
        wide = SAMPLE + 6 + texts.width(figure, str(trace.get("name", "")), size)
        if rows[-1] and (left + wide > room or look.get("orientation") != "h"):
            rows.append([])
            left = 0.0
        rows[-1].append((left, trace))
        left += wide + APART
    title = (look.get("title") or {}).get("text") or ""
    tall = ROW * len(rows) + (texts.height(title, font["size"]) if title else 0)
    return Legend(look, rows, title, tall)


def draw(figure: "Figure", legend: Legend, plot: Box, font: Any) -> None:
    """Draw it where its attributes say."""
    from matplotlib.patches import Rectangle

    width, height = (side * 100 for side in figure.get_size_inches())
    look = legend.look
    if look.get("yref") == "container":
        up = look.get("y", 1) * height
    else:
        up = plot.bottom + look.get("y", 1) * (plot.top - plot.bottom)
    top = up + {"bottom": legend.height, "middle": legend.height / 2}.get(
        look.get("yanchor", ""), 0.0
    )
    top = min(top, height - 2)
    left = plot.left + look.get("x", 0) * (plot.right - plot.left)
    if legend.title:
        texts.put(
            figure,
            legend.title,
            left,
            top,
            size=font["size"],
            color=font["color"],
            widest=width - left - 4,
        )
        top -= texts.height(legend.title, font["size"])
    size = (look.get("font") or {}).get("size", font["size"] - 1)
    axes = figure.add_axes((0, 0, 1, 1), facecolor="none")
    axes.axis("off")
    axes.set(xlim=(0, width), ylim=(0, height))
    for number, row in enumerate(legend.rows):
        middle = top - ROW * (number + 0.5)
        for offset, trace in row:
            at = left + offset
            if trace["type"] == "heatmap":
                _, ends = scale(trace["colorscale"])
                box = Rectangle((at + 8, middle - 6), 14, 12, facecolor=tuple(ends[0]))
                axes.add_patch(box)
            else:
                _sample(axes, trace, at, middle)
            texts.put(
                figure,
                str(trace.get("name", "")),
                at + SAMPLE + 4,
                middle,
                size=size,
                color=font["color"],
                up="middle",
            )


def _sample(axes: Any, trace: Mapping[str, Any], left: float, middle: float) -> None:
    mode, opacity = trace.get("mode") or "lines", float(trace.get("opacity") or 1)
    line, marker = trace.get("line") or {}, trace.get("marker") or {}
    if trace.get("fill") not in (None, "none"):
        _ground(axes, trace, left, middle)
    width = float(line.get("width", 2))
    if "lines" in mode and width:
        axes.plot(
            [left, left + SAMPLE],
            [middle, middle],
            color=rgba(line.get("color") or trace["color"], opacity),
            linewidth=width * texts.POINT,
            linestyle=dashes(line.get("dash"), width),
        )
    if "markers" in mode:
        color, name = _first(marker.get("color")), _first(marker.get("symbol"))
        form, is_open = symbol(name)
        shade = rgba(
            color if isinstance(color, str) else line.get("color") or trace["color"], opacity
        )
        rim = marker.get("line") or {}
        axes.scatter(
            [left + SAMPLE / 2],
            [middle],
            s=(min(12.0, float(_first(marker.get("size")) or 6)) * texts.POINT) ** 2,
            marker=form,
            facecolors=shade if form in "|_" or not is_open else "none",
            edgecolors=None if form in "|_" else shade,
            linewidths=float(_first(rim.get("width")) or is_open) * texts.POINT,
        )


def _ground(axes: Any, trace: Mapping[str, Any], left: float, middle: float) -> None:
    pattern = trace.get("fillpattern") or {}
    hatched = bool(pattern.get("shape"))
    axes.fill(
        [left, left + SAMPLE, left + SAMPLE, left],
        [middle - 6, middle - 6, middle + 6, middle + 6],
        facecolor=rgba(pattern["bgcolor"] if hatched else trace["fillcolor"]),
        edgecolor=rgba(pattern["fgcolor"], 0.5) if hatched else "none",
        hatch="////" if hatched else None,
        linewidth=0,
    )


def _first(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    return next(iter(np.asarray(value).tolist()), None)
