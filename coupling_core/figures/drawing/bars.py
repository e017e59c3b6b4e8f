"""Colour bars: which colour is which number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing import texts
from coupling_core.figures.drawing.axes import Box
from coupling_core.figures.drawing.colors import colored, rgba
from coupling_core.figures.drawing.parts import INSTEAD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP = 6
"""Pixels between the bar and its title."""


@dataclass(frozen=True)
class Bar:
    """A colour bar.

    Args:
        look: plotly's attributes of it.
        low: number at its left end.
        high: at its right end.
        colors: plotly's colour scale.
    """

    look: Mapping[str, Any]
    low: float
    high: float
    colors: Any

    def height(self, font: Mapping[str, Any]) -> float:
        """Pixels that it takes with its title and numbers."""
        title = self.look.get("title") or {}
        size = (title.get("font") or {}).get("size", font["size"])
        told = texts.height(title.get("text") or "", size)
        return _numbers(self.look, font) + self.look.get("thickness", 30) + GAP + told


def found(data: list[dict[str, Any]], layout: Mapping[str, Any]) -> list[Bar]:
    """The colour bars of a figure."""
    bars = []
    for trace in data:
        if trace["type"] == "heatmap" and "coloraxis" not in trace:
            if trace.get("showscale") is not False:
                z = np.asarray(trace["z"], float)
                low = trace.get("zmin", np.nanmin(z) if np.isfinite(z).any() else 0)
                high = trace.get("zmax", np.nanmax(z) if np.isfinite(z).any() else 1)
                bars.append(Bar(trace["colorbar"], low, high, trace["colorscale"]))
        elif (marker := trace.get("marker") or {}).get("colorbar"):
            bars.append(
                Bar(marker["colorbar"], marker["cmin"], marker["cmax"], marker["colorscale"])
            )
    if axis := layout.get("coloraxis"):
        bars.append(Bar(axis["colorbar"], axis["cmin"], axis["cmax"], axis["colorscale"]))
    return bars


def _numbers(look: Mapping[str, Any], font: Mapping[str, Any]) -> float:
    return look.get("ticklen", 5) + 3 + texts.LINE * font["size"]


def draw(figure: "Figure", bar: Bar, plot: Box, font: Mapping[str, Any]) -> None:
    """A horizontal bar over the plot, its title on top and its numbers under it."""
    look = bar.look
    if look.get("orientation") != "h" or look.get("lenmode") != "pixels":
        raise ComputeError(f"a colour bar that stands upright needs Chromium: {INSTEAD}")
    width, height = (side * 100 for side in figure.get_size_inches())
    long, thick = look.get("len", 230), look.get("thickness", 30)
    left = plot.left + look.get("x", 0) * (plot.right - plot.left)
    left -= {"left": 0.0, "center": long / 2, "right": long}[look.get("xanchor", "left")]
    under = plot.bottom + look.get("y", 1) * (plot.top - plot.bottom)
    bottom = min(under, height - bar.height(font) - 4) + _numbers(look, font)
    axes = figure.add_axes((left / width, bottom / height, long / width, thick / height))
    shades = colored(np.linspace(bar.low, bar.high, 256), bar.low, bar.high, bar.colors)
    axes.imshow(shades[None], extent=(bar.low, bar.high, 0, 1), aspect="auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set(yticks=[], xticks=_ticks(bar, long))
    if look.get("ticktext") is not None:
        axes.set_xticks(list(look["tickvals"]), labels=[str(text) for text in look["ticktext"]])
    else:
        digits = _digits(axes.get_xticks())
        axes.set_xticklabels(
            [f"{at + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}") for at in axes.get_xticks()]
        )
    axes.tick_params(
        length=look.get("ticklen", 5) * texts.POINT,
        width=texts.POINT,
        color=rgba(look.get("tickcolor", "#444")),
        labelsize=font["size"] * texts.POINT,
        labelcolor=rgba(font["color"]),
        pad=2,
    )
    title = look.get("title") or {}
    texts.put(
        figure,
        title.get("text") or "",
        left,
        bottom + thick + GAP,
        size=(title.get("font") or {}).get("size", font["size"]),
        color=font["color"],
        up="bottom",
        widest=width - left - 4,
    )


def _ticks(bar: Bar, long: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    at = MaxNLocator(max(2, int(long) // 45), steps=[1, 2, 5, 10]).tick_values(bar.low, bar.high)
    return [float(one) for one in at if bar.low - 1e-9 <= one <= bar.high + 1e-9]


def _digits(at: Any) -> int:
    if len(at) < 2:
        return 0
    return max(0, int(np.ceil(-np.log10(at[1] - at[0]) - 1e-9)))
