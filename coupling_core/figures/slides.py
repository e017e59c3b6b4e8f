"""Slides as one PDF: a title, and words or one figure a page."""

import asyncio
import html
import io
import re
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import plotly.graph_objects as go

from coupling_core.base.extras import needed
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.figures import style, words
from coupling_core.figures.enlarged import enlarged
from coupling_core.figures.export import AXIS, INK, chromium, options, or_by_matplotlib
from coupling_core.figures.typeset import in_html

WIDTH, HEIGHT = 1280, 720
"""Of a slide, in pixels."""
_EDGE, _TOP = 60, 96
_TITLE_SIZE, _SIZE = 38, 28
_LETTERS = 88
"""That fit into a line of words."""
_TIMES = 1.4
"""How much larger than on the screen figures are drawn."""
_NOTE_SIZE, _LINE = 18, 24
_NOTES = 560
"""Width of the notes beside a map, and with the two below the letters in a line of notes."""
_BESIDE, _BELOW = 58, 130
_LEGEND = 40
"""Pixels of a legend above a figure."""
_AT_THE_LEFT = {
    "showarrow": False, "xref": "paper", "yref": "paper", "x": 0, "y": 1,
    "xanchor": "left", "yanchor": "top", "align": "left",
}  # fmt: skip


@dataclass(frozen=True)
class Slide:
    """One page.

    Args:
        title: at its top.
        text: below it, as Markdown of bold words and lists alone; empty where there is a figure.
        figure: with its caption in `layout.meta`.
        of: the result that the figure is of, and how that is looked at; nothing where the figure
            names its source itself.
    """

    title: str
    text: str = ""
    figure: go.Figure | None = None
    of: tuple[Result, AnyView] | tuple[()] = ()


def slides(pages: Sequence[Slide]) -> bytes:
    """The file's content: drawn by Chromium, or by matplotlib where there is none.

    Raises:
        ComputeError: where neither can draw a page.
        InputError: where what the app needs is not installed.
    """
    with needed("app"):
        from pypdf import PdfWriter

    drawn = [_words(one) if one.figure is None else _page(one, one.figure) for one in pages]
    whole = PdfWriter()
    for page in or_by_matplotlib(lambda: _by_one_chromium(drawn), drawn, ".pdf"):
        whole.append(io.BytesIO(page))
    content = io.BytesIO()
    whole.write(content)
    return content.getvalue()


def _words(slide: Slide) -> go.Figure:
    """A slide without a figure."""
    ground = go.Figure()
    ground.update_layout(
        width=WIDTH,
        height=HEIGHT,
        margin={"l": _EDGE, "r": _EDGE, "t": _TOP, "b": _EDGE},
        paper_bgcolor="white",
        plot_bgcolor="white",
        font_color=INK,
        meta={"alt": slide.title},
    )
    ground.update_xaxes(visible=False, range=[0, 1])
    ground.update_yaxes(visible=False, range=[0, 1])
    _title(ground, slide.title)
    text = {"text": _lines(slide.text), "font": {"size": _SIZE}}
    return ground.add_annotation(_AT_THE_LEFT | text)


def _page(slide: Slide, figure: go.Figure) -> go.Figure:
    """A slide with its figure, and with what that is of: beside a map, below all else."""
    told = figure.layout.meta
    source = told.get("source") or (words.provenance(*slide.of) if slide.of else "")
    is_map = figure.layout.yaxis.scaleanchor is not None
    page = style.reink(enlarged(figure, _TIMES), style.BLACK)
    margin, below = page.layout.margin, round(_TIMES * told.get("below", AXIS))
    notes = [
        f"<span style='color: {ink}'>{in_html(html.escape(line))}</span>"
        for text, ink in ((told["caption"], INK), (source, style.INK))
        for line in textwrap.wrap(text, _BESIDE if is_map else _BELOW)
    ]
    under = 0 if is_map else _LINE * len(notes)
    above = _LEGEND if _has_legend_above(page) else 0
    sides = {"l": max(margin.l or 0, _EDGE) + 40, "r": _NOTES if is_map else _EDGE}
    page.update_layout(
        title=None,
        width=WIDTH,
        height=HEIGHT,
        paper_bgcolor="white",
        font_color=INK,
        margin=sides | {"t": _TOP + above + (margin.t or 0), "b": below + under + _EDGE // 2},
    )
    if page.layout.legend.y is not None:
        page.update_layout(legend={"xref": "paper", "x": 0})
    _title(page, slide.title)
    place = {"x": 1, "xshift": 40} if is_map else {"y": 0, "yshift": -below}
    text = {"text": "<br>".join(notes), "font": {"size": _NOTE_SIZE}}
    return page.add_annotation(_AT_THE_LEFT | place | text)


def _has_legend_above(page: go.Figure) -> bool:
    """Whether the legend stands where the house's style has it, and names something."""
    y = page.layout.legend.y
    return (y is None or y >= 1) and any(trace.showlegend for trace in page.data)


def _title(page: go.Figure, title: str) -> None:
    """Write it at the upper left corner."""
    margin = page.layout.margin
    shift = {"xshift": _EDGE - margin.l, "yshift": margin.t - _EDGE // 2}
    text = {"text": f"<b>{html.escape(title)}</b>", "font": {"size": _TITLE_SIZE}}
    page.add_annotation(_AT_THE_LEFT | shift | text)


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


def _by_one_chromium(pages: Sequence[go.Figure]) -> list[bytes]:
    """Each as a PDF of one page; raises `NotByChromium` where one cannot be drawn."""
    import kaleido

    async def each() -> list[bytes]:
        async with kaleido.Kaleido(n=1, mathjax=False) as browser:
            return [await browser.calc_fig(page.to_dict(), options(page, ".pdf")) for page in pages]

    with chromium(".pdf"), ThreadPoolExecutor(1) as thread:
        # A thread of its own, for the caller's may have an event loop.
        return thread.submit(asyncio.run, each()).result()
