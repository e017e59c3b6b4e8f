"""One figure on a page: drawn, described, and taken home as a file or a table."""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from coupling_core.analysis.exports import frame, to_csv
from coupling_core.base.curves import Curves
from coupling_core.base.drawing import drawn, figures_of
from coupling_core.base.units import with_minus
from coupling_core.figures import render
from coupling_core.figures.curves import numbers_table
from coupling_core.figures.slides import enlarged
from coupling_core.figures.style import BAR_ROOM, reink
from coupling_core.figures.words import in_tex
from explorer.panels import origin
from explorer.panels.hand import hand
from explorer.panels.kept import kept
from explorer.panels.origin import Origin, Shown
from explorer.panels.square import FULL_SCREEN, limit
from explorer.panels.whole import place_of, whole
from explorer.session.plain_text import plain
from explorer.session.session import change, value

__all__ = ["Shown", "draw", "draw_named", "draw_partial", "in_white", "ink", "made", "third"]

IMAGE_FORMAT = "_image_format"
"""Where the session keeps the format of the camera button: "svg" or "png"."""
SIGNATURE = 28
"""Pixels below a figure for what its picture says of itself: two lines."""
RULES = f"""
.stPlotlyChart .gtitle {{ visibility: hidden }}
.stPlotlyChart text, #js-plotly-tester text {{ font-family: sans-serif !important }}
.stElementContainer:has(.modebar) {{ overflow: visible; margin-bottom: 1.75rem }}
.js-plotly-plot:has(.modebar) {{ overflow: visible !important }}
.js-plotly-plot .modebar-container {{ top: 100% !important }}
.js-plotly-plot .plotly .modebar {{ top: 0 }}
.js-plotly-plot:has({FULL_SCREEN}) .plotly .modebar {{ top: auto; bottom: 2px }}"""
"""For the page: what only pictures say is not seen; letters are those that pictures have, by which
plotly finds in its "tester" how wide a text is; and buttons stand below what they would cover."""
_TITLE = {
    "x": 0, "xref": "container", "xanchor": "left", "y": 0, "yref": "container",
    "yanchor": "bottom", "pad": {"l": 4, "b": 4}, "font": {"size": 9, "weight": "normal"},
}  # fmt: skip
_signing = Lock()
_BUTTONS_OFF = ["select2d", "lasso2d", "autoScale2d"]
_MOVING = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]
"""Buttons that would let a map, whose pixels are all in sight, off its axes."""


TIMES = 1.7
"""How much larger letters are in present mode."""
ROOM = 620
"""Pixels that a square map has at least there."""
PANEL = 440
"""Height in pixels of a figure in a third of the page: all three fit on a laptop's screen."""
MOST_LABELS = 9
"""Labels of an axis that have room in it side by side."""
PANEL_BAR = 190
"""Length of its colour bar in pixels."""


def made(
    build: Callable[..., go.Figure],
    *args: Any,
    finish: Callable[[go.Figure], go.Figure] | None = None,
    of: object = None,
    **options: Any,
) -> go.Figure:
    """A figure, made once for the same results and settings.

    Args:
        build: of `coupling_core.figures`.
        *args: its arguments.
        finish: fits it to its place on the page; a function of a module, so that it stays the same.
        of: as of `kept`.
        **options: its further arguments.
    """
    return kept(_made, build, finish, *args, of=of, **options)


def _made(
    build: Callable[..., go.Figure],
    finish: Callable[[go.Figure], go.Figure] | None,
    *args: Any,
    **options: Any,
) -> go.Figure:
    figure = build(*args, **options)
    return _still(finish(figure) if finish else figure)


def _still(figure: go.Figure) -> go.Figure:
    """As all figures of the app are; one that is kept is so already, and not touched again."""
    if figure.layout.dragmode is not False:
        # Dragging would zoom by accident, and on a small screen keep the page from scrolling.
        figure.update_layout(dragmode=False)
        # A square map in a narrow column keeps next to its colour bar.
        figure.update_yaxes(constraintoward="top")
    return figure


def _is_map(figure: go.Figure) -> bool:
    """Whether its cells are square, whatever the width of the page."""
    return figure.layout.yaxis.scaleanchor is not None


def ink() -> Callable[[go.Figure], go.Figure] | None:
    """What makes white what is in ink, on a dark page; to be given to `made` as `finish`."""
    return in_white if st.context.theme.type == "dark" else None


def in_white(figure: go.Figure) -> go.Figure:
    """What is in ink, as a dark page has it."""
    return reink(figure, "white")


def draw(
    figure: go.Figure,
    name: str,
    of: Origin,
    table: Callable[[], pd.DataFrame],
    *,
    picks: tuple[str, ...] = (),
) -> None:
    """Draw a figure with its caption; its table and files are folded away below it.

    Args:
        figure: with its alternative text and caption in `layout.meta`.
        name: of its files; unique on the page.
        of: what the figure is of; None where it names its sources itself.
        table: makes its table twin.
        picks: fields of the state that a click selects: each point's custom data has a number, or
            a text, for each, such as (l, l').
    """
    still = _still(figure)
    signed = _for_the_room(still) if value("present") else _signed(still, of)
    if rule := limit(signed, name):
        st.html(f"<style>{rule}</style>")
    frame = st.container(key=f"{name}@frame", gap=None)
    with frame:
        st.plotly_chart(
            signed,
            key=name,
            config=_config(origin.file(of, name, ""), figure),
            alt=figure.layout.meta["alt"],
        )
        if picks:
            hand(name, picks)
    whole().figures[name] = figure, origin.source(of)
    whole().places[name] = place_of(frame)
    told = figure.layout.meta
    caption = " ".join(filter(None, (told["caption"], told.get("on_page"))))
    st.caption(in_tex(with_minus(caption), plain))
    fold = st.expander("Table and files", key=f"{name}@fold", on_change=change, type="compact")
    if fold.open:
        with fold:
            _files(figure, name, of, table())


def _signed(figure: go.Figure, of: Origin) -> go.Figure:
    """Write model, prompt and K below a figure for its picture; the page hides it (`RULES`)."""
    told = origin.lines(figure, of)
    with _signing:  # a figure that is kept is drawn by several sessions
        if figure.layout.title.text != told:
            margin = figure.layout.margin.b or figure.layout.template.layout.margin.b or 0
            grown = SIGNATURE * (figure.layout.title.text is None)
            figure.update_layout(title=_TITLE | {"text": told}, margin_b=margin + grown)
    return figure


def _for_the_room(figure: go.Figure) -> go.Figure:
    """A figure in present mode."""
    found = enlarged(figure, TIMES)
    margin = found.layout.margin
    if figure.layout.margin.t == BAR_ROOM:
        margin.t *= 3 / 4
    if _is_map(figure) and found.layout.height is not None:
        found.update_layout(height=max(found.layout.height, ROOM + margin.t + margin.b))
    return found


def wide(pixels: int) -> int:
    """A width on the page, as it is in present mode or else."""
    return round(TIMES * pixels) if value("present") else pixels


def third(figure: go.Figure) -> go.Figure:
    """A figure in a third of the page, where labels of every other block have room to stand."""
    figure.update_traces(colorbar_len=PANEL_BAR, selector={"type": "heatmap", "showscale": None})
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        if axis.tickvals is not None and len(axis.tickvals) > MOST_LABELS:
            axis.update(tickvals=axis.tickvals[::2], ticktext=axis.ticktext[::2])
    return figure.update_layout(height=PANEL)


def draw_named(
    name: str,
    of: Shown,
    *,
    picks: tuple[str, ...] = (),
    finish: Callable[[go.Figure], go.Figure] | None = None,
    **options: Any,
) -> None:
    """Draw a figure of a kind by its name, which is that of its files too."""
    what = figures_of(of.result.request.kind)[name].draws
    table = partial(numbers_table, *of, what) if isinstance(what, Curves) else partial(frame, *of)
    draw(made(drawn, *of, name, finish=finish, **options), name, of, table, picks=picks)


def draw_partial(figure: go.Figure, without: str = "") -> None:
    """Draw a figure of what is measured so far, twice a second beside the measurement.

    `without` is the name of the traces that only the mouse needs.
    """
    figure.data = [trace for trace in figure.data if not without or trace.name != without]
    st.plotly_chart(figure, key="partial", alt=figure.layout.meta["alt"])


def _files(figure: go.Figure, name: str, of: Origin, table: pd.DataFrame) -> None:
    st.dataframe(table, height=260, alt=f"Table of the figure {name}")
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            lambda: to_csv(origin.signed_table(table, of), index=True),
            origin.file(of, name, ".csv"),
            "text/csv",
            key=f"{name}@csv",
            on_click="ignore",
        )
        st.download_button(
            "HTML",
            lambda: render(figure, ".html", *origin.source(of)),
            origin.file(of, name, ".html"),
            "text/html",
            key=f"{name}@html",
            on_click="ignore",
        )


def _config(file: str, figure: go.Figure) -> dict[str, object]:
    """Options of plotly's own buttons; the camera saves what is on the screen."""
    image = st.session_state.get(IMAGE_FORMAT, "svg")
    return {
        "displayModeBar": not value("present"),
        "displaylogo": False,
        "doubleClick": False,  # which would let a map off its axes
        "modeBarButtonsToRemove": _BUTTONS_OFF + _MOVING * _is_map(figure),
        "toImageButtonOptions": {"format": image, "filename": file, "scale": 3},
    }
