"""A whole picture: its parts in plotly's order, in pixels, and its file."""

import base64
import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from coupling_core.base.errors import ComputeError
from coupling_core.figures.drawing import axes as places
from coupling_core.figures.drawing import bars, legends, texts, traces
from coupling_core.figures.drawing.axes import Box
from coupling_core.figures.drawing.parts import INSTEAD, from_template, require_drawable
from coupling_core.figures.drawing.shapes import shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONTS = ("Source Sans Pro", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans")
"""The first that is here is taken; the last comes with matplotlib, and fills in for the others."""
LEGENDS = ("legend", "legend2")
EDGE = 16
"""Pixels that stay free at the left edge."""
_PLAIN = "#444"


def draw(page: go.Figure, ending: str) -> bytes:
    """A figure as the content of a file.

    Args:
        page: the figure, on paper.
        ending: .pdf, .svg or .png.

    Raises:
        ComputeError: where it has a part that is not drawn here, or letters that no font has.
        ModuleNotFoundError: where matplotlib is missing.
    """
    import matplotlib

    settings: Any = {
        "font.family": _fonts(),
        "svg.fonttype": "none",
        "svg.hashsalt": "coupling",
        "pdf.fonttype": 42,
        "lines.scale_dashes": False,
        "hatch.linewidth": 0.6,
        "mathtext.fontset": "dejavusans",
    }
    data, layout = _resolved(page)
    require_drawable(data, layout)
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph", category=UserWarning)
        try:
            figure = _fitted(data, layout)
            return _file(figure, ending)
        except UserWarning as warning:
            raise ComputeError(
                f"a letter is in no font that matplotlib finds ({warning}): {INSTEAD}"
            ) from warning


def _fonts() -> list[str]:
    from matplotlib import font_manager

    here = {font.name for font in font_manager.fontManager.ttflist}
    return [name for name in FONTS if name in here]


def _file(figure: "Figure", ending: str) -> bytes:
    import matplotlib

    buffer, form = io.BytesIO(), ending[1:]
    by = f"Coupling Explorer, drawn by matplotlib {matplotlib.__version__}"
    told = {
        "png": {"Software": by},
        "pdf": {"Creator": by, "CreationDate": None},
        "svg": {"Creator": by, "Date": None},
    }
    figure.savefig(buffer, format=form, dpi=200, metadata=told[form])
    return buffer.getvalue()


def _resolved(page: go.Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The traces, and the layout with what its template says."""
    told = _unpacked(page.to_plotly_json())
    own = dict(told["layout"])
    template = from_template((own.pop("template", None) or {}).get("layout", {}))
    layout = _merged(template, own)
    letters = {name for name in layout if name[:5] in ("xaxis", "yaxis")} | {"xaxis", "yaxis"}
    for name in letters:
        layout[name] = _merged(template.get(name[:5], {}), own.get(name, {}))
    for name in [name for name in layout if name.startswith("legend")]:
        layout[name] = _merged(template.get("legend", {}), own.get(name, {}))
    colors = layout.get("colorway") or [_PLAIN]
    data = [
        {"type": "scatter", "line": {}, **trace, "color": colors[number % len(colors)]}
        for number, trace in enumerate(told["data"])
        if trace.get("visible", True) is True and trace.get("opacity") != 0
    ]
    return data, layout


def _unpacked(given: Any) -> Any:
    """Arrays as plotly packs them, as arrays again."""
    if isinstance(given, Mapping):
        if {"dtype", "bdata"} <= set(given):
            flat = np.frombuffer(base64.b64decode(given["bdata"]), np.dtype(given["dtype"]))
            sides = given.get("shape", str(len(flat)))
            return flat.reshape([int(side) for side in str(sides).split(",")])
        return {name: _unpacked(value) for name, value in given.items()}
    return [_unpacked(one) for one in given] if isinstance(given, list | tuple) else given


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def _fitted(data: list[dict[str, Any]], layout: dict[str, Any]) -> "Figure":
    """Drawn, and drawn again with more room at the left where titles would leave the picture."""
    more = 0.0
    for _ in range(2):
        figure, left = _drawn(data, layout, more)
        if left >= EDGE - 1:
            break
        more += EDGE - left
    return figure


def _drawn(
    data: list[dict[str, Any]], layout: dict[str, Any], more: float
) -> "tuple[Figure, float]":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = layout["width"], layout["height"]
    figure = Figure((width / 100, height / 100), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    font = {"size": layout["font"].get("size", 12), "color": layout["font"].get("color", _PLAIN)}
    margin = layout["margin"]
    left, right = margin["l"] + more, width - margin["r"]
    legend: dict[str, legends.Legend] = {
        name: legends.lay_out(figure, named, layout[name], right - left, font)
        for name in LEGENDS
        if name in layout and (named := legends.entries(data, layout, name))
    }
    colored = bars.found(data, layout)
    top = height - _above(margin["t"], colored, legend, layout, font)
    plot = Box(left, margin["b"], right, top)
    leftmost = _plots(figure, data, layout, plot, font)
    for bar in colored:
        bars.draw(figure, bar, plot, font)
    for one in legend.values():
        legends.draw(figure, one, plot, font)
    _notes(figure, layout, plot, font)
    return figure, leftmost


def _above(
    given: float,
    colored: list[bars.Bar],
    legend: Mapping[str, legends.Legend],
    layout: Mapping[str, Any],
    font: Mapping[str, Any],
) -> float:
    """Pixels over the plots: what was given, or what colour bars, legends and titles need."""
    needs = [float(given)]
    titles = [
        note
        for note in layout.get("annotations", ())
        if note.get("yref") == "paper" and note.get("y") == 1 and note.get("yanchor") == "bottom"
    ]
    under = max((texts.height(n["text"], font["size"]) for n in titles), default=0.0)
    needs += [bar.height(font) + max(14, under + 8) + 10 for bar in colored]
    needs += [
        one.height + 14
        for one in legend.values()
        if one.look.get("y", 1) > 1 and one.look.get("yref") != "container"
    ]
    return max(*needs, under + 8)


def _plots(
    figure: "Figure", data: list[dict[str, Any]], layout: dict[str, Any], whole: Box, font: Any
) -> float:
    """Every plot with its traces and shapes; returns the pixel at which the leftmost title ends."""
    width, height = layout["width"], layout["height"]
    pairs = list(dict.fromkeys((t.get("xaxis", "x"), t.get("yaxis", "y")) for t in data))
    leftmost = float(width)
    for x_name, y_name in pairs or [("x", "y")]:
        x, y = (
            layout.get(places.name_of(letter, name), {})
            for letter, name in (("x", x_name), ("y", y_name))
        )
        if y.get("matches"):
            y = {**layout[places.name_of("y", y["matches"])], **y}
        here = [t for t in data if (t.get("xaxis", "x"), t.get("yaxis", "y")) == (x_name, y_name)]
        marks = [one for one in layout.get("shapes", ()) if _is_of(one, x_name, y_name)]
        ends = (
            places.span(x, "x", here, _marks(marks, "x")),
            places.span(y, "y", here, _marks(marks, "y")),
        )
        box = whole.within(x.get("domain", (0, 1)), y.get("domain", (0, 1)))
        box = places.shaped(box, x, y, ends)
        frame = figure.add_axes(
            (
                box.left / width,
                box.bottom / height,
                (box.right - box.left) / width,
                (box.top - box.bottom) / height,
            ),
            facecolor="none",
        )
        for spine in frame.spines.values():
            spine.set_visible(False)
        places.prepare(frame, "x", x, ends[0], font)
        places.prepare(frame, "y", y, ends[1], font)
        for one in marks:
            shape(frame, one, 1.5 if one.get("layer") == "below" else 90)
        for number, trace in enumerate(here):
            before = here[number - 1] if number else None
            _trace(frame, trace, x, y, layout, 2 + number / max(1, len(here)), font, before)
        leftmost = min(leftmost, _titles(figure, frame, x, y, box, font))
    return leftmost


def _marks(shapes: list[Mapping[str, Any]], letter: str) -> list[float]:
    """Where shapes begin and end on an axis; not in parts of the plot."""
    return [
        float(one[f"{letter}{end}"])
        for one in shapes
        for end in "01"
        if f"{letter}{end}" in one
        and " " not in str(one.get(f"{letter}ref", ""))
        and one.get(f"{letter}ref") != "paper"
    ]


def _is_of(one: Mapping[str, Any], x_name: str, y_name: str) -> bool:
    refs = [str(one.get(name, own)) for name, own in (("xref", "x"), ("yref", "y"))]
    plain = [ref.split()[0] for ref in refs]
    return all(ref in (own, "paper") for ref, own in zip(plain, (x_name, y_name), strict=True))


def _trace(
    frame: "Axes",
    trace: Mapping[str, Any],
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    layout: Mapping[str, Any],
    order: float,
    font: Any,
    before: Mapping[str, Any] | None,
) -> None:
    match trace["type"]:
        case "heatmap":
            shared = trace.get("coloraxis")
            traces.heatmap(frame, trace, layout[shared] if shared else trace, order)
        case "image":
            traces.image(frame, trace, order)
        case _:
            traces.scatter(frame, trace, x, y, order, font, before)


def _titles(
    figure: "Figure", frame: "Axes", x: Mapping[str, Any], y: Mapping[str, Any], box: Box, font: Any
) -> float:
    """Both titles, clear of the numbers; returns the pixel at which the left one begins."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    around = {
        letter: own.get_tightbbox(renderer)
        for letter, own in (("x", frame.xaxis), ("y", frame.yaxis))
    }
    left = around["y"].x0 if around["y"] is not None else box.left
    bottom = around["x"].y0 if around["x"] is not None else box.bottom
    title = x.get("title") or {}
    size = (title.get("font") or {}).get("size", font["size"])
    if title.get("text") and x.get("visible") is not False:
        texts.put(
            figure,
            title["text"],
            (box.left + box.right) / 2,
            bottom - 5,
            size=size,
            color=font["color"],
            across="center",
            widest=box.left + box.right,
        )
    title = y.get("title") or {}
    size = (title.get("font") or {}).get("size", font["size"])
    if not title.get("text") or y.get("visible") is False:
        return float(left)
    texts.put(
        figure,
        title["text"],
        left - 6,
        (box.bottom + box.top) / 2,
        size=size,
        color=font["color"],
        up="bottom",
        upright=True,
        widest=box.top - box.bottom + 120,
    )
    return float(left - 6 - texts.height(title["text"], size))


def _notes(figure: "Figure", layout: Mapping[str, Any], plot: Box, font: Any) -> None:
    """Annotations, the figure's provenance among them."""
    for note in layout.get("annotations", ()):
        if note.get("showarrow", True):
            raise ComputeError(f"an arrow at a text needs Chromium: {INSTEAD}")
        look = note.get("font") or {}
        size, color = look.get("size", font["size"]), look.get("color", font["color"])
        x, across = _place(figure, note, "x", plot)
        y, up = _place(figure, note, "y", plot)
        width = figure.get_size_inches()[0] * 100
        texts.put(
            figure,
            note["text"],
            x + (note.get("xshift") or 0),
            y + (note.get("yshift") or 0),
            size=size,
            color=color,
            across=across,
            up=up,
            opacity=float(note.get("opacity") or 1),
            widest=width - x - 4 if across == "left" else width,
        )


def _place(figure: "Figure", note: Mapping[str, Any], letter: str, plot: Box) -> tuple[float, str]:
    """Where an annotation lies, in pixels, and which of its ends."""
    at, reference = note.get(letter, 0), str(note.get(f"{letter}ref", letter))
    low, high = (plot.left, plot.right) if letter == "x" else (plot.bottom, plot.top)
    if reference == "paper":
        found = low + float(at) * (high - low)
        middle = {True: "left", False: "right"}.get(at < 1 / 3) if abs(at - 0.5) > 1 / 6 else None
    elif reference == letter:
        frame = figure.axes[0]
        pair = (at, frame.get_ylim()[0]) if letter == "x" else (frame.get_xlim()[0], at)
        found = float(frame.transData.transform(pair)[int(letter == "y")])
        middle = None
    else:
        raise ComputeError(f"a text placed by {reference!r} needs Chromium: {INSTEAD}")
    anchor = note.get(f"{letter}anchor", "auto")
    if anchor != "auto":
        return found, anchor
    if letter == "x":
        return found, middle or "center"
    return found, {"left": "bottom", "right": "top"}.get(middle or "", "middle")
