"""A figure as a file that stands alone: white ground, its caption and its source below."""

import asyncio
import html
import logging
import re
import textwrap
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import plotly.graph_objects as go

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.units import with_minus
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words

FORMATS = (".html", ".pdf", ".svg", ".png")
WIDTH = 760
AXIS = 64  # pixels that tick labels and the title of the x axis take
_log = logging.getLogger(__name__)

_LINE = 16  # pixels
_LETTERS = 112  # that fit into the width at the size of the notes
_TOP = 16
_LEGEND_BELOW = 44
_LEGEND_ROW = 19


def render(
    figure: go.Figure, ending: str, result: Result | None = None, view: AnyView | None = None
) -> bytes:
    """The figure as a file's content; HTML carries plotly.js and fetches nothing.

    Of one that is of no single result `layout.meta` has the "title" and the "source" to name.
    Raises `ComputeError` where neither Chrome nor matplotlib draws the PDF, SVG or PNG.
    """
    if ending not in FORMATS:
        raise InputError(f"expected one of {', '.join(FORMATS)} for a figure, got {ending!r}")
    page = on_paper(figure, result, view)
    alt = html.escape(figure.layout.meta["alt"])
    if ending == ".html":
        title = page.layout.meta.get("title") or (result.subject if result else "")
        body = page.to_html(full_html=False, include_plotlyjs=True)
        return _PAGE.format(title=html.escape(title), alt=alt, body=body).encode()
    picture = drawn(page, ending)
    if ending == ".svg":  # the text where screen readers look for it
        told = f' role="img"><title>{alt}</title>'.encode()
        return re.sub(rb"(<svg[^>]*)>", lambda found: found[1] + told, picture, count=1)
    return picture


def on_paper(
    figure: go.Figure, result: Result | None = None, view: AnyView | None = None
) -> go.Figure:
    """The figure on white, with its caption and its source below."""
    meta, width = figure.layout.meta, figure.layout.width or WIDTH
    caption = paragraph(meta.get("summary", ""), meta["caption"])
    lines = notes(caption, source(figure, result, view), _LETTERS * width // WIDTH)
    page = style.reink(go.Figure(figure), style.BLACK)
    square = page.layout.yaxis.scaleanchor is not None and figure.layout.width is None
    legend = _legend_below(page, square)
    below = meta.get("below", AXIS) + legend
    bottom = below + _LINE * len(lines) + 16
    height = (_of_maps(page) if square else page.layout.height) - AXIS + bottom
    margin = {"l": 60, "r": 16, "t": _TOP, "b": bottom, "autoexpand": True}
    on_white(page, width, height, margin)
    page.update_xaxes(automargin=True)
    page.update_yaxes(automargin=True)
    if page.layout.legend.yref == "container":  # between the axis and the notes
        top = (bottom - below + legend) / page.layout.height
        page.update_layout(legend={"xref": "paper", "y": top, "yanchor": "top"})
    place = {"y": 0, "yshift": -below, "font": {"size": 12}, "name": "provenance"}
    return page.add_annotation(AT_THE_LEFT | place, text="<br>".join(lines))


def on_white(page: go.Figure, width: int, height: int, margin: Mapping[str, float]) -> go.Figure:
    """On white, without the title that the app's own pictures have."""
    look = {"title": None, "paper_bgcolor": "white", "font_color": style.BLACK}
    return page.update_layout(width=width, height=height, margin=margin, **look)


AT_THE_LEFT = {
    "showarrow": False, "xref": "paper", "yref": "paper", "x": 0, "y": 1,
    "xanchor": "left", "yanchor": "top", "align": "left",
}  # fmt: skip
"""Place of a text at the upper left corner of the plots."""


def source(figure: go.Figure, result: Result | None, view: AnyView | None) -> str:
    """Where a figure's numbers come from."""
    return figure.layout.meta.get("source") or (
        words.provenance(result, view) if result and view else ""
    )


def notes(caption: str, origin: str, letters: int) -> list[str]:
    """Lines below a figure: its caption, and in grey its source."""
    return [
        f"<span style='color: {ink}'>{words.in_html(html.escape(line))}</span>"
        for text, ink in ((with_minus(caption), style.BLACK), (origin, style.INK))
        for line in textwrap.wrap(text, letters)
    ]


def _of_maps(page: go.Figure) -> int:
    """Pixels of height that a square map needs, or several in a row."""
    left, right = page.layout.xaxis.domain or (0, 1)
    if right - left == 1:
        return WIDTH
    margin = page.layout.margin
    side = (WIDTH - margin.l - margin.r) * (right - left)
    return round(side + margin.t + margin.b) + AXIS


def _legend_below(page: go.Figure, square: bool) -> int:
    """Pixels of a legend under the axis; its entries stand three in a row."""
    legend = page.layout.legend
    traces = [one for one in page.data if one.type != "image"]
    listed = [
        one.showlegend or (one.showlegend is None and one.type == "scatter") for one in traces
    ]
    if legend.y is None or not any(listed):
        return 0
    rows = (sum(listed) - 1) // 3 + bool(legend.title.text)
    # Its place is given in parts of the plot, and may lie further down than the axis ends.
    gap = 0 if square else max(0, round(-legend.y * (page.layout.height - AXIS - _TOP)) - AXIS)
    return gap + _LEGEND_BELOW + _LEGEND_ROW * rows


def drawn(page: go.Figure, ending: str) -> bytes:
    """A page as .pdf, .svg or .png: by Chromium, or by matplotlib; `ComputeError` if both fail."""
    try:
        return by_chromium([page], ending)[0]
    except ComputeError as failure:
        try:
            from coupling_core.figures.drawing import draw

            picture = draw(page, ending)
        except InputError as error:  # a package is missing
            raise ComputeError(f"{error}, and {failure}") from error
        except Exception as error:  # of the many ways in which a figure may be beyond it
            raise ComputeError(f"matplotlib cannot draw this ({error}), and {failure}") from error
        _log.warning("matplotlib draws this %s, for %s", ending, failure)
        return picture


def by_chromium(pages: Sequence[go.Figure], ending: str) -> list[bytes]:
    """Each page by one Chromium; raises `ComputeError` if it fails."""
    import kaleido
    from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError

    async def each() -> list[bytes]:
        # MathJax would be fetched from the internet.
        async with kaleido.Kaleido(n=1, mathjax=False) as browser:
            return [await browser.calc_fig(page.to_dict(), options(page, ending)) for page in pages]

    try:
        with ThreadPoolExecutor(1) as thread:  # for the caller's may have an event loop
            return thread.submit(asyncio.run, each()).result()
    except (ChromeNotFoundError, BrowserFailedError, BrowserClosedError) as error:
        raise ComputeError(
            "no Chrome or Chromium could be started: kaleido_get_chrome, in the folder of the "
            "coupling command, installs one, and .html needs none"
        ) from error
    except Exception as error:  # one that started fails in its own ways, and those of its driver
        short = textwrap.shorten(str(error), 120, placeholder=" ...")
        raise ComputeError(
            f"Chromium failed ({type(error).__name__}: {short}): try again, or ask for .html, "
            "which needs none"
        ) from error


def options(page: go.Figure, ending: str) -> dict[str, str | int]:
    """How Chromium is to draw a figure, as kaleido has it."""
    size = {"width": page.layout.width, "height": page.layout.height}
    return size | {"format": ending[1:], "scale": 2 if ending == ".png" else 1}


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="background: white"><div role="img" aria-label="{alt}">{body}</div></body>
</html>
"""
