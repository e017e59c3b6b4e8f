"""Slides as one PDF, a title and words or one figure a page, and figures as large as these need."""

import html
import io
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from coupling_core.base.extras import needed
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.figures import style
from coupling_core.figures.export import AT_THE_LEFT, AXIS, by_chromium, notes, on_white, source
from coupling_core.figures.words import in_html

WIDTH, HEIGHT = 1280, 720
"""Of a slide, in pixels."""
_EDGE, _TOP = 60, 96
_TITLE_SIZE, _SIZE = 38, 28
_LETTERS = 88  # that fit into a line of words
_TIMES = 1.4  # how much larger than on the screen figures are drawn
_NOTE_SIZE, _LINE = 18, 24
_NOTES = 560
"""Width of the notes beside a map, and with the two below the letters in a line of notes."""
_BESIDE, _BELOW = 58, 130
_LEGEND = 40  # pixels of a legend above a figure
LEAST = 20  # pixels of the smallest letters
_FRAMES = ("margin", "colorbar", "title", "xaxis", "yaxis")
_LENGTHS = {
    **dict.fromkeys(("l", "r", "t", "b", "pad", "thickness", "standoff", "ticklen"), _FRAMES),
    "size": ("marker",),
    "width": ("line",),
}
"""Lengths in pixels by plotly's names, and the parts that have them."""


@dataclass(frozen=True)
class Slide:
    """One page: a title with words, in Markdown of bold words and lists alone, or with a figure."""

    title: str
    text: str = ""
    figure: go.Figure | None = None
    of: tuple[Result, AnyView] | tuple[()] = ()
    """The result that it is of, and the view; nothing where the figure names its source itself."""


def slides(pages: Sequence[Slide]) -> bytes:
    """The file's content.

    Raises:
        ComputeError: if Chromium, which alone draws them, fails.
        InputError: if what the app needs is not installed.
    """
    with needed("app"):
        from pypdf import PdfWriter

    ready = [_words(one) if one.figure is None else _shown(one, one.figure) for one in pages]
    whole, content = PdfWriter(), io.BytesIO()
    for page in by_chromium(ready, ".pdf"):
        whole.append(io.BytesIO(page))
    whole.write(content)
    return content.getvalue()


def _words(slide: Slide) -> go.Figure:
    """A slide without a figure."""
    ground = _titled(go.Figure(), slide.title, {"l": _EDGE, "r": _EDGE, "t": _TOP, "b": _EDGE})
    text = {"text": _lines(slide.text), "font": {"size": _SIZE}}
    hidden = {"visible": False, "range": [0, 1]}
    ground.update_layout(xaxis=hidden, yaxis=hidden, plot_bgcolor="white")
    return ground.add_annotation(AT_THE_LEFT | text)


def _shown(slide: Slide, figure: go.Figure) -> go.Figure:
    """A slide with its figure, and the figure's notes: beside a map, below all else."""
    meta, (result, view) = figure.layout.meta, slide.of or (None, None)
    is_map = figure.layout.yaxis.scaleanchor is not None
    page = style.reink(enlarged(figure, _TIMES), style.BLACK)
    margin, below = page.layout.margin, round(_TIMES * meta.get("below", AXIS))
    told = notes(meta["caption"], source(figure, result, view), _BESIDE if is_map else _BELOW)
    y, listed = page.layout.legend.y, any(trace.showlegend for trace in page.data)
    has_legend_above = listed and (y is None or y >= 1)  # where the house's style has it
    top = _TOP + (margin.t or 0) + _LEGEND * has_legend_above
    bottom = below + _EDGE // 2 + (0 if is_map else _LINE * len(told))
    sides = {"l": max(margin.l or 0, _EDGE) + 40, "r": _NOTES if is_map else _EDGE}
    _titled(page, slide.title, sides | {"t": top, "b": bottom})
    if y is not None:
        page.update_layout(legend={"xref": "paper", "x": 0})
    place = {"x": 1, "xshift": 40} if is_map else {"y": 0, "yshift": -below}
    text = {"text": "<br>".join(told), "font": {"size": _NOTE_SIZE}}
    return page.add_annotation(AT_THE_LEFT | place | text)


def _titled(page: go.Figure, title: str, margin: dict[str, float]) -> go.Figure:
    """A white page of a slide's size, with its title at the upper left corner."""
    on_white(page, WIDTH, HEIGHT, margin)
    shift = {"xshift": _EDGE - margin["l"], "yshift": margin["t"] - _EDGE // 2}
    text = {"text": f"<b>{html.escape(title)}</b>", "font": {"size": _TITLE_SIZE}}
    return page.add_annotation(AT_THE_LEFT | shift | text)


def _lines(text: str) -> str:
    """Markdown of bold words and lists as plotly has it, in lines that fit."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        point = paragraph.startswith("- ")
        bare = paragraph.removeprefix("- ")
        lead = ("• ", "   ") if point else ("", "")
        lines += textwrap.wrap(
            bare, _LETTERS, initial_indent=lead[0], subsequent_indent=lead[1]
        ) or [""]
    whole = in_html(html.escape("\n".join(lines), quote=False))
    # Bold words may go over the end of a line.
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", whole, flags=re.DOTALL)
    return bold.replace("\n", "<br>")


def enlarged(figure: go.Figure, times: float) -> go.Figure:
    """A copy whose letters and lengths are so many times as large; its width is the page's."""
    larger = _scaled(figure.to_plotly_json(), times)
    layout = larger["layout"]
    if "height" in layout:
        layout["height"] = round(times * layout["height"])
    return go.Figure(larger)


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
