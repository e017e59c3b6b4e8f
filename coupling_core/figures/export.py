"""A figure as a file that stands alone: white ground, its caption and where it comes from."""

import html
import logging
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import plotly.graph_objects as go

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.extras import remedy
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.base.units import with_minus
from coupling_core.figures import style, words
from coupling_core.figures.typeset import in_html

FORMATS = (".html", ".pdf", ".svg", ".png")
WIDTH = 760
INK = "#24292f"
_log = logging.getLogger(__name__)

_LINE = 16  # pixels
_LETTERS = 112  # that fit into the width at the size of the notes
AXIS = 64
"""Pixels that tick labels and the title of the x axis take."""
_TOP = 16
_LEGEND_BELOW = 44
_LEGEND_ROW = 19


class NotByChromium(ComputeError):
    """A picture that Chromium did not draw.

    Args:
        why: in short.
        message: the same with what can be done.
    """

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


def render(
    figure: go.Figure, ending: str, result: Result | None = None, view: AnyView | None = None
) -> bytes:
    """The figure as a file's content; HTML carries plotly.js and fetches nothing.

    Args:
        figure: as the other functions here return it; where it is not of one result, its
            `layout.meta` has the "title" and the "source" to name instead.
        ending: one of `FORMATS`.
        result: where the figure's numbers come from.
        view: how they are looked at.

    Raises:
        InputError: on another ending.
        ComputeError: where PDF, SVG or PNG is asked for, no Chromium draws it, and matplotlib is
            missing or cannot draw this figure.
    """
    require_format(ending)
    page = on_paper(figure, result, view)
    alt = html.escape(figure.layout.meta["alt"])
    if ending == ".html":
        body = page.to_html(full_html=False, include_plotlyjs=True)
        told = page.layout.meta.get("title") or (words.subject(result) if result else "")
        title = html.escape(told)
        return _PAGE.format(title=title, alt=alt, body=body).encode()
    picture = drawn(page, ending)
    return _with_title(picture, alt) if ending == ".svg" else picture


def require_format(ending: str) -> None:
    """Refuse an ending that no figure is written as."""
    if ending not in FORMATS:
        raise InputError(f"a figure is written as {', '.join(FORMATS)}, and {ending!r} came")


def on_paper(
    figure: go.Figure, result: Result | None = None, view: AnyView | None = None
) -> go.Figure:
    """The figure on white, with its caption and its provenance below."""
    told, width = figure.layout.meta, figure.layout.width or WIDTH
    origin = told.get("source") or (words.provenance(result, view) if result and view else "")
    caption, source = (
        [in_html(html.escape(line)) for line in textwrap.wrap(text, _LETTERS * width // WIDTH)]
        for text in (
            with_minus(" ".join(filter(None, [told.get("summary"), told["caption"]]))),
            origin,
        )
    )
    notes = [*caption, *(f"<span style='color: {style.INK}'>{line}</span>" for line in source)]
    page = style.reink(go.Figure(figure), style.BLACK)
    square = page.layout.yaxis.scaleanchor is not None and figure.layout.width is None
    legend = _legend_below(page, square)
    below = page.layout.meta.get("below", AXIS) + legend
    bottom = below + _LINE * len(notes) + 16
    page.update_layout(
        title=None,  # of the page's own pictures
        width=width,
        height=(_of_maps(page) if square else page.layout.height) - AXIS + bottom,
        paper_bgcolor="white",
        font_color=INK,
        margin={"l": 60, "r": 16, "t": _TOP, "b": bottom, "autoexpand": True},
    )
    page.update_xaxes(automargin=True)
    page.update_yaxes(automargin=True)
    if page.layout.legend.yref == "container":  # between the axis and the notes
        top = (bottom - below + legend) / page.layout.height
        page.update_layout(legend={"xref": "paper", "y": top, "yanchor": "top"})
    return page.add_annotation(
        text="<br>".join(notes),
        x=0,
        y=0,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="top",
        yshift=-below,
        align="left",
        showarrow=False,
        font={"size": 12},
        name="provenance",
    )


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
    named = [
        t
        for t in page.data
        if t.type != "image" and (t.showlegend or (t.showlegend is None and t.type == "scatter"))
    ]
    if legend.y is None or not named:
        return 0
    rows = (len(named) - 1) // 3 + bool(legend.title.text)
    # Its place is told in parts of the plot, and may lie further down than the axis ends.
    gap = 0 if square else max(0, round(-legend.y * (page.layout.height - AXIS - _TOP)) - AXIS)
    return gap + _LEGEND_BELOW + _LEGEND_ROW * rows


def drawn(page: go.Figure, ending: str) -> bytes:
    """Draw a figure as .pdf, .svg or .png: by Chromium, or by matplotlib where that fails.

    Raises:
        ComputeError: where neither can draw it.
    """
    (picture,) = or_by_matplotlib(lambda: [through_chromium(page, ending)], [page], ending)
    return picture


def or_by_matplotlib(
    by_chromium: Callable[[], list[bytes]], pages: Sequence[go.Figure], ending: str
) -> list[bytes]:
    """What Chromium draws, or where it fails matplotlib.

    Args:
        by_chromium: draws the pages; raises `NotByChromium`.
        pages: the figures.
        ending: .pdf, .svg or .png.

    Raises:
        ComputeError: where neither can draw them.
    """
    from coupling_core.figures import drawing

    try:
        return by_chromium()
    except NotByChromium as none:
        try:
            pictures = [drawing.draw(page, ending) for page in pages]
        except ModuleNotFoundError as error:
            raise ComputeError(f"{none}; or {remedy('draw')}, with which it is drawn") from error
        except ComputeError as error:
            raise ComputeError(f"{none.why}, and {error}") from error
        _log.warning("%s: matplotlib draws this %s instead", none.why, ending)
        return pictures


def through_chromium(page: go.Figure, ending: str) -> bytes:
    """The same by Chromium alone; raises `NotByChromium` where there is none, or it fails."""
    import kaleido

    with chromium(ending):
        # Without this MathJax would be fetched from the internet.
        kopts = {"mathjax": False}
        return kaleido.calc_fig_sync(page.to_dict(), opts=options(page, ending), kopts=kopts)


def options(page: go.Figure, ending: str) -> dict[str, str | int]:
    """How Chromium is to draw a figure, as kaleido has it."""
    size = {"width": page.layout.width, "height": page.layout.height}
    return size | {"format": ending[1:], "scale": 2 if ending == ".png" else 1}


@contextmanager
def chromium(ending: str) -> Iterator[None]:
    """Have what goes wrong with Chromium inside raised as `NotByChromium`."""
    from kaleido.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError

    try:
        yield
    except (ChromeNotFoundError, BrowserFailedError, BrowserClosedError) as error:
        raise NotByChromium(
            "no Chromium could be started",
            f"{ending} is drawn by Chromium, and none could be started: install Chrome or "
            "Chromium (or set BROWSER_PATH to it), or ask for .html, which needs none",
        ) from error
    except Exception as error:  # one that started fails in its own ways, and those of its driver
        told = f"{type(error).__name__}: {textwrap.shorten(str(error), 120, placeholder=' ...')}"
        raise NotByChromium(
            f"Chromium failed ({told})",
            f"{ending} is drawn by Chromium, which failed ({told}): try again, or ask for .html, "
            "which needs none",
        ) from error


def _with_title(svg: bytes, alt: str) -> bytes:
    """Put the alternative text where screen readers look for it."""
    before, _, own = svg.partition(b"<svg")
    head, _, rest = own.partition(b">")
    return before + b"<svg" + head + b' role="img">' + f"<title>{alt}</title>".encode() + rest


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="background: white"><div role="img" aria-label="{alt}">{body}</div></body>
</html>
"""
