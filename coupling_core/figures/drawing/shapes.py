"""Lines, rectangles and paths over or under the traces."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing import texts
from coupling_core.figures.drawing.colors import rgba
from coupling_core.figures.drawing.parts import INSTEAD
from coupling_core.figures.drawing.traces import dashes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COMMAND = re.compile(r"([A-DF-Za-df-z])([^A-DF-Za-df-z]*)")
_POINTS = {"M": 1, "L": 1, "C": 3}


def shape(axes: "Axes", given: Mapping[str, Any], order: float) -> None:
    """A shape of plotly's, clipped to its plot."""
    from matplotlib.patches import Patch, PathPatch, Polygon

    line, opacity = given.get("line") or {}, float(given.get("opacity") or 1.0)
    width = float(line.get("width", 2))
    look = {
        "edgecolor": rgba(line.get("color") or "#444", opacity),
        "linewidth": width * texts.POINT,
        "linestyle": dashes(line.get("dash"), width),
        "facecolor": rgba(given["fillcolor"], opacity) if given.get("fillcolor") else "none",
        "zorder": order,
    }
    patch: Patch
    match given.get("type"):
        case "path":
            patch = PathPatch(_path(given["path"]), **look)
        case "rect" | "line" as kind:
            x0, x1, y0, y1 = (given[name] for name in ("x0", "x1", "y0", "y1"))
            corners = [(x0, y0), (x1, y1)]
            if kind == "rect":
                corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
            patch = Polygon(corners, closed=kind == "rect", **look)
        case kind:
            raise ComputeError(f"a shape of the kind {kind!r} needs Chromium: {INSTEAD}")
    patch.set_transform(_where(axes, given))
    patch.set_clip_path(axes.patch)
    ends = axes.get_xlim(), axes.get_ylim()
    axes.add_artist(patch)
    axes.set(xlim=ends[0], ylim=ends[1])


def _where(axes: "Axes", given: Mapping[str, Any]) -> Any:
    """What the shape's numbers mean: the axis, or parts of the plot where they say `domain`."""
    from matplotlib.transforms import blended_transform_factory

    of_plot = [str(given.get(name, "")).endswith(("domain", "paper")) for name in ("xref", "yref")]
    x, y = (axes.transAxes if one else axes.transData for one in of_plot)
    return axes.transData if not any(of_plot) else blended_transform_factory(x, y)


def _path(given: str) -> Any:
    """A path of SVG: moves, lines and cubic curves, in absolute places."""
    from matplotlib.path import Path

    codes, points = [], []
    kinds = {"M": [Path.MOVETO], "L": [Path.LINETO], "C": [Path.CURVE4] * 3}
    for command, numbers in _COMMAND.findall(given):
        if command not in _POINTS:
            raise ComputeError(f"a path with {command!r} needs Chromium: {INSTEAD}")
        at = np.array(re.findall(r"-?[\d.]+(?:e-?\d+)?", numbers), float).reshape(-1, 2)
        codes += kinds[command] * (len(at) // _POINTS[command])
        points.append(at)
    return Path(np.concatenate(points), codes)
