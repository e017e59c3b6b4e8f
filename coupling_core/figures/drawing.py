"""Maps and curves as PDF, SVG and PNG by matplotlib, for machines without a Chrome.

Data, ranges, scales and colours are the plotly figure's; ticks, fonts and margins matplotlib's.
What else a figure may have is refused: three dimensions, pictures, graphs, arrows.
"""

import html
import io
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.extras import needed
from coupling_core.figures import style

with needed("draw"):
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, MultipleLocator
    from matplotlib.transforms import Bbox, Transform, blended_transform_factory

PIXEL = 0.72  # points: a picture has 100 pixels an inch
LETTER = 0.88 * PIXEL  # the same of letters: matplotlib's font is wider than that of the web
DASHES: Mapping[str, Any] = {"dot": ":", "dash": "--", "dashdot": "-.", "longdash": (0, (8, 3))}
SYMBOLS: Mapping[str, Any] = {
    **{"circle": "o", "square": "s", "diamond": "D", "cross": "P", "x": "X", "star": "*"},
    **{"triangle-up": "^", "triangle-down": "v", "pentagon": "p", "hexagon": "h"},
    **{"line-ns": [(0, -1), (0, 1)], "line-ew": [(-1, 0), (1, 0)]},
}


def draw(page: go.Figure, ending: str) -> bytes:
    """A page of `on_paper` as a .pdf, .svg or .png file; any exception is a refusal."""
    layout, content = page.layout, io.BytesIO()
    inked = ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor")
    look: dict[Any, Any] = {
        **dict.fromkeys(inked, layout.font.color),
        "font.size": LETTER * (layout.template.layout.font.size or 12),
        **dict.fromkeys(("axes.edgecolor", "axes.facecolor", "svg.fonttype"), "none"),
        "pdf.fonttype": 42,
    }
    with matplotlib.rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph", category=UserWarning)
        picture = Figure((layout.width / 100, layout.height / 100), dpi=100)
        _fill(picture, page)
        # What reaches beyond the page makes it larger.
        box = Bbox.union([picture.bbox_inches, picture.get_tightbbox().padded(0.1)])
        picture.savefig(content, format=ending[1:], dpi=200, bbox_inches=box)
    return content.getvalue()


def _fill(picture: Figure, page: go.Figure) -> None:
    layout, edge = page.layout, page.layout.margin
    left, right = edge.l / layout.width, 1 - edge.r / layout.width
    bottom, top = edge.b / layout.height, 1 - edge.t / layout.height
    paper = picture.add_axes((left, bottom, right - left, top - bottom))
    paper.axis("off")
    plots: dict[str, Axes] = {}
    frames: dict[str, Transform] = {"paper": paper.transAxes}
    axis: dict[str, Any] = {}
    named: dict[Any, str] = {}
    shown = [one for one in page.data if one.opacity != 0]
    for order, trace in enumerate(shown, 2):
        if trace.type not in ("scatter", "scattergl", "heatmap"):
            raise ValueError(f"a trace of the kind {trace.type}")
        x, y = trace.xaxis or "x", trace.yaxis or "y"
        if x not in plots:
            axis |= {ref: layout[f"{ref[0]}axis{ref[1:]}"] for ref in (x, y)}
            (x0, x1), (y0, y1) = (axis[ref].domain or (0, 1) for ref in (x, y))
            axes = plots[x] = plots[y] = paper.inset_axes((x0, y0, x1 - x0, y1 - y0))
            if axis[y].scaleanchor:
                axes.set_aspect("equal", anchor="NW")
            frames |= {x: axes.transData, y: axes.transData}
            frames |= {f"{x} domain": axes.transAxes, f"{y} domain": axes.transAxes}
        is_map = trace.type == "heatmap"
        made = (_map if is_map else _curve)(plots[x], trace, order)
        by_default = not is_map and (layout.showlegend or len(shown) > 1)
        listed = by_default if trace.showlegend is None else trace.showlegend
        if listed and layout.showlegend is not False:
            named[made] = _plain(trace.name)
        look = trace if is_map else trace.marker
        if look.showscale is not False and look.colorbar.title.text is not None:
            _bar(paper, look)
    for shape in layout.shapes:
        refs = shape.xref or "x", shape.yref or "y"
        of = next(ref.split()[0] for ref in refs if ref != "paper")
        _shape(plots[of], shape, blended_transform_factory(*(frames[ref] for ref in refs)))
    for ref, axes in plots.items():
        _axis(axes, ref[0], axis[ref])
    if named:
        _legend(paper, layout.legend, named)
    for note in layout.annotations:
        if note.showarrow is not False:
            raise ValueError("an arrow")
        paper.annotate(
            _plain(note.text),
            (note.x, note.y),
            xycoords=(frames[note.xref or "x"], frames[note.yref or "y"]),
            xytext=((note.xshift or 0) * PIXEL, (note.yshift or 0) * PIXEL),
            textcoords="offset points",
            ha=note.xanchor or "center",
            va=note.yanchor or "center",
            fontsize=LETTER * note.font.size if note.font.size else None,
        )


def _axis(axes: Axes, letter: str, axis: Any) -> None:
    """Scale, range, ticks, grid and title."""
    own: Any = getattr(axes, f"{letter}axis")
    is_log, suffix = axis.type == "log", axis.ticksuffix or ""
    axes.set(**{f"{letter}scale": "log" if is_log else "linear"})
    if axis.range is not None:
        axes.set(**{f"{letter}lim": [10**end if is_log else end for end in axis.range]})
    elif axis.rangemode == "tozero" and own.get_data_interval()[0] >= 0:
        axes.set(**{f"{letter}lim": (0, None)})
    if axis.tickvals is None:
        own.set_major_formatter(lambda at, _: f"{at:g}{suffix}".replace("-", "\u2212"))
        if axis.dtick is not None and not is_log:
            own.set_major_locator(MultipleLocator(axis.dtick, offset=axis.tick0 or 0))
    else:
        _label(own, axis)
    axes.minorticks_off()
    own.set_tick_params(
        length=0 if axis.ticks == "" else 4 * PIXEL,
        color=_rgba(style.FAINT),
        labelleft=axis.showticklabels is not False,
        labelrotation=-(axis.tickangle or 0),
    )
    if axis.showgrid:
        axes.set_axisbelow(True)
        own.grid(True, color=_rgba(style.FAINT), linewidth=PIXEL)
    own.set_label_text(_plain(axis.title.text))
    own.set_visible(axis.visible is not False)


def _label(own: Any, axis: Any) -> None:
    """Ticks where the figure has them; beyond the range there are none."""
    texts = axis.tickvals if axis.ticktext is None else axis.ticktext
    own.set_major_locator(FixedLocator(_array(axis.tickvals).tolist()))
    own.set_major_formatter(FixedFormatter([_plain(str(text)) for text in texts]))


def _map(axes: Axes, trace: Any, order: float) -> Any:
    """Draw a heatmap; returns what stands for it in a legend."""
    if trace.texttemplate:
        raise ValueError("numbers in cells")
    z, edges, (norm, colors) = _array(trace.z), [], _scale(trace)
    for given, n in ((trace.x, z.shape[1]), (trace.y, len(z))):
        at = np.arange(n) if given is None else _array(given)
        step = at[1] - at[0] if n > 1 else 1.0
        edges.append(np.append(at, at[-1] + step) - step / 2)
    known = np.ma.masked_invalid(z)
    axes.pcolormesh(*edges, known, norm=norm, cmap=colors, zorder=order, rasterized=True)
    return Patch(color=colors(0.0))


def _curve(axes: Axes, trace: Any, order: float) -> Any:
    """Draw ground, line, error bars, points and texts; returns what stands for it in a legend."""
    x, y = _array(trace.x), _array(trace.y)
    made: list[Any] = []
    if trace.fill:
        ground = _rgba(trace.fillcolor or style.FAINT)
        made += axes.fill(x, y, fc=ground, lw=0, zorder=order)
    if "lines" in trace.mode:
        made += axes.plot(x, y, zorder=order, **_stroke(trace.line, trace.opacity or 1))
    for bars, name in ((trace.error_x, "xerr"), (trace.error_y, "yerr")):
        if bars.array is not None:
            less = bars.array if bars.arrayminus is None else bars.arrayminus
            look: dict[str, Any] = {name: [_array(less), _array(bars.array)], "fmt": "none"}
            axes.errorbar(x, y, ecolor=_rgba(bars.color), lw=2 * PIXEL, zorder=order, **look)
    if "markers" in trace.mode:
        made += _points(axes, trace, x, y, order)
    if "text" in trace.mode and trace.text is not None:
        colors = _colors(trace.textfont.color, style.INK, len(x))
        for at_x, at_y, text, color in zip(x, y, trace.text, colors, strict=True):
            axes.text(at_x, at_y, _plain(text), color=color, ha="center", va="bottom")
    return tuple(made)


def _points(axes: Axes, trace: Any, x: np.ndarray, y: np.ndarray, order: float) -> list[Any]:
    """Draw markers, each symbol by itself."""
    marker, n, made = trace.marker, len(x), []
    if _each(marker.color, "", n).dtype.kind in "iuf":
        norm, colors = _scale(marker)
        inside = colors(norm(_each(marker.color, "", n)))
    else:
        inside = _colors(marker.color, trace.line.color or style.INK, n)
    inside[:, 3] *= _each(marker.opacity, 1, n) * (trace.opacity or 1)
    size, width = _each(marker.size, 6, n), _each(marker.line.width, 0, n)
    rims, symbols = _colors(marker.line.color, "#0000", n), _each(marker.symbol, "circle", n)
    for symbol in dict.fromkeys(symbols):
        at, solid = (symbols == symbol) & np.isfinite(x + y), symbol.removesuffix("-open")
        look: dict[str, Any] = {"facecolors": inside[at], "edgecolors": rims[at]}
        if solid != symbol:
            look = {"facecolors": "none", "edgecolors": inside[at]}
        look |= {"linewidths": np.maximum(width[at], solid != symbol) * PIXEL, "zorder": order}
        look |= {"s": (size[at] * PIXEL) ** 2, "marker": SYMBOLS[solid]}
        made.append(axes.scatter(x[at], y[at], **look))
    return made[:1]


def _scale(look: Any) -> tuple[Normalize, LinearSegmentedColormap]:
    """Range and colours of cells or points."""
    stops = [(at, _rgba(color)) for at, color in look.colorscale]
    colors = LinearSegmentedColormap.from_list("", stops, N=1024)
    low, high = (look.zmin, look.zmax) if "zmin" in look else (look.cmin, look.cmax)
    return Normalize(low, high), colors.reversed() if look.reversescale else colors


def _bar(paper: Axes, look: Any) -> None:
    """A colour bar above the plots: title, colours, numbers."""
    bar, box = look.colorbar, paper.get_window_extent()
    place = bar.x, bar.y + 26 / box.height, bar.len / box.width, bar.thickness / box.height
    axes, colors = paper.inset_axes(place), ScalarMappable(*_scale(look))
    steps = MaxNLocator(5, steps=[1, 2, 5, 10])
    axes.figure.colorbar(colors, axes, orientation="horizontal", ticks=steps)
    if bar.ticktext is not None:
        _label(axes.xaxis, bar)
    axes.tick_params(color=_rgba(style.FAINT))
    axes.set_title(_plain(bar.title.text), loc="left", fontsize="medium")


def _shape(axes: Axes, shape: Any, frame: Transform) -> None:
    if shape.type not in ("line", "rect"):
        raise ValueError(f"a {shape.type}, such as the edges of a graph")
    x, y = [shape.x0, shape.x1], [shape.y0, shape.y1]
    if shape.type == "rect":
        x, y = [*x, *reversed(x), x[0]], [y[0], y[0], y[1], y[1], y[0]]
    look: dict[str, Any] = {"transform": frame, "zorder": 1 if shape.layer == "below" else 99}
    axes.fill(x, y, color=_rgba(shape.fillcolor or "#0000"), **look)
    axes.plot(x, y, **look, **_stroke(shape.line))


def _legend(paper: Axes, look: Any, named: dict[Any, str]) -> None:
    """Three entries a row."""
    up = paper.figure.transFigure if look.yref == "container" else paper.transAxes
    paper.legend(
        list(named),
        list(named.values()),
        loc="upper left" if look.yanchor == "top" else "lower left",
        bbox_to_anchor=(look.x or 0, 1.02 if look.y is None else look.y),
        bbox_transform=blended_transform_factory(paper.transAxes, up),
        ncols=3,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
    )


def _stroke(line: Any, opacity: float = 1.0) -> dict[str, Any]:
    color, width = _rgba(line.color or style.INK, opacity), 2 if line.width is None else line.width
    return {"color": color, "linewidth": width * PIXEL, "linestyle": DASHES.get(line.dash, "-")}


def _array(values: Any) -> np.ndarray:
    """Numbers, None as NaN."""
    return np.asarray(values, float)


def _each(given: Any, default: Any, n: int) -> np.ndarray:
    """An attribute that all points share, or one of each."""
    return np.broadcast_to(np.asarray(default if given is None else given), n)


def _colors(given: Any, default: str, n: int) -> np.ndarray:
    return np.array([_rgba(color) for color in _each(given, default, n)]).reshape(-1, 4)


def _rgba(color: str, opacity: float = 1.0) -> tuple[float, float, float, float]:
    """A colour of plotly's in parts of 1, its own opacity times the one given."""
    if color.startswith("rgb"):
        red, green, blue, *own = (float(part) for part in re.findall(r"[\d.]+", color))
        return red / 255, green / 255, blue / 255, (own[0] if own else 1.0) * opacity
    red, green, blue, alpha = to_rgba(color)
    return red, green, blue, alpha * opacity


def _plain(text: str | None) -> str:
    """Plotly's markup as matplotlib's: lines and indices, without sizes and colours."""
    text = (text or "").replace("$", r"\$").replace("<br>", "\n")
    for tag, mark in (("sub", "_"), ("sup", "^")):
        text = re.sub(f"<{tag}>(.*?)</{tag}>", rf"${mark}{{\\mathregular{{\1}}}}$", text)
    return html.unescape(re.sub(r"</?\w[^>]*>", "", text))
