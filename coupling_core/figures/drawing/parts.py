"""What a figure may have that is drawn here: anything else is refused rather than drawn wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from coupling_core.base.errors import ComputeError

_NO_INK = {
    *("hoverinfo", "hovertemplate", "hovertext", "hoverlabel", "hovermode", "customdata", "meta"),
    *("uid", "selected", "unselected", "dragmode", "clickmode", "selectdirection", "uirevision"),
    "hoverdistance",
    *("legendgroup", "type", "name", "template", "dict", "modebar", "newselection", "color"),
}
"""What is of the mouse and of a page, or is read elsewhere."""

_OF_BARS = (
    *("orientation", "title", "thickness", "lenmode", "len", "x", "xanchor", "xpad", "ypad", "y"),
    *("yanchor", "outlinewidth", "ticks", "ticklen", "tickcolor", "tickvals", "ticktext"),
)
_BAR = {f"colorbar.{name}" for name in _OF_BARS}
_POINTS = {
    *("x", "y", "mode", "line.color", "line.width", "line.dash", "text", "textposition"),
    *(
        "textfont",
        "fill",
        "fillcolor",
        "fillpattern",
        "opacity",
        "showlegend",
        "legend",
        "xaxis",
        "yaxis",
    ),
    *(f"marker.{name}" for name in ("color", "size", "symbol", "opacity", "line.color")),
    *(f"marker.{name}" for name in ("line.width", "colorscale", "cmin", "cmax", "showscale")),
    *(f"marker.{name}" for name in _BAR),
    *(f"error_{axis}.{name}" for axis in "xy" for name in ("type", "array", "arrayminus")),
    *(f"error_{axis}.{name}" for axis in "xy" for name in ("color", "thickness", "width")),
    "connectgaps",
}
KINDS: Mapping[str, set[str]] = {
    "scatter": _POINTS,
    "scattergl": _POINTS,
    "heatmap": _BAR
    | {"x", "y", "z", "zmin", "zmax", "colorscale", "showscale", "showlegend", "xgap"}
    | {"ygap", "opacity", "coloraxis", "xaxis", "yaxis"},
    "image": {"z", "xaxis", "yaxis", "opacity"},
}
"""Kinds of traces, and their attributes."""

_AXIS = {
    *(
        "title",
        "range",
        "type",
        "tickvals",
        "ticktext",
        "dtick",
        "tick0",
        "tickformat",
        "ticksuffix",
        "hoverformat",
        "ticks",
        "visible",
    ),
    *("ticklen", "tickcolor", "tickangle", "tickfont", "showgrid", "gridcolor", "gridwidth"),
    *("domain", "anchor", "scaleanchor", "constrain", "constraintoward", "automargin", "matches"),
    *("showticklabels", "minorloglabels", "categoryorder", "categoryarray", "rangemode"),
    *("exponentformat", "zeroline", "showline", "ticklabeloverflow"),
}
_LAYOUT = {
    *("width", "height", "margin", "paper_bgcolor", "plot_bgcolor", "font", "colorway", "legend"),
    *("legend2", "showlegend", "autosize"),
    *(f"coloraxis.{name}" for name in {"cmin", "cmax", "colorscale", "showscale"} | _BAR),
}
_NOTE = {
    *("x", "y", "xref", "yref", "xanchor", "yanchor", "xshift", "yshift", "text", "showarrow"),
    *("font", "opacity", "align"),
}
_SHAPE = {
    *("type", "x0", "x1", "y0", "y1", "xref", "yref", "path", "line.color", "line.width"),
    *("line.dash", "opacity", "layer", "fillcolor", "showlegend"),
}
_ONLY = {"connectgaps": False, "zeroline": False, "showline": False, "ticklabeloverflow": "allow"}
"""What is drawn in one way only."""

INSTEAD = "install Chromium, or ask for .html, which needs none"


def from_template(layout: Mapping[str, Any]) -> dict[str, Any]:
    """What a template says of parts that are drawn; it has looks of many that a figure has not."""
    kept = {name: part for name, part in layout.items() if name in _LAYOUT}
    for name in ("xaxis", "yaxis"):
        kept[name] = {key: part for key, part in layout.get(name, {}).items() if key in _AXIS}
    return kept


def require_drawable(data: list[dict[str, Any]], layout: Mapping[str, Any]) -> None:
    """Refuse a figure of which anything would be left out or drawn otherwise.

    Raises:
        ComputeError: with the first thing that is not drawn here, and what to do instead.
    """
    for trace in data:
        kind = trace.get("type", "scatter")
        if kind not in KINDS:
            what = "three dimensions" if kind.endswith("3d") else f"a trace of the kind {kind!r}"
            raise ComputeError(f"{what}: that is drawn by Chromium alone: {INSTEAD}")
        _require(trace, KINDS[kind], f"a {kind} trace")
        if kind.startswith("scatter") and "mode" not in trace:  # plotly counts points, and chooses
            raise ComputeError(f"a trace without a mode is drawn by Chromium alone: {INSTEAD}")
    for name, part in layout.items():
        if name[:5] in ("xaxis", "yaxis"):
            _require(part, _AXIS, name)
        elif name in ("annotations", "shapes"):
            for one in part:
                _require(one, _NOTE if name == "annotations" else _SHAPE, f"{name[:-1]}")
        elif name not in _NO_INK:
            _require({name: part}, _LAYOUT, "a figure")


def _require(given: Mapping[str, Any], known: set[str], what: str) -> None:
    for name in _leaves(given):
        parts = name.split(".")
        odd = name in _ONLY and given[name] != _ONLY[name]
        if odd or not {".".join(parts[: i + 1]) for i in range(len(parts))} & known:
            raise ComputeError(f"{name} of {what} is drawn by Chromium alone: {INSTEAD}")


def _leaves(given: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in given.items():
        if not before and name in _NO_INK:
            continue
        if isinstance(value, Mapping) and not {"dtype", "bdata"} <= set(value):
            yield from _leaves(value, f"{before}{name}.")
        elif value is not None:
            yield f"{before}{name}"
