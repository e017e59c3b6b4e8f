"""The figures of one step of a training run, kept for when the slider comes back to it.

Plotly takes longer to build a figure than the browser to draw it. All are of one size and in one
place, with margins that are given: plotly would find them by drawing twice, at every step.
"""

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.by_step import Runs
from coupling_core.analysis.projection import ProjectedPaths
from coupling_core.base.records import Layout, PathView, View
from coupling_core.base.results import DepthResult
from coupling_core.figures.style import BAR_ROOM
from explorer.panels.chart import in_white, made

PANEL = 480
"""Height of a panel in pixels: all three of a run fit on a laptop's screen."""
PANEL_BAR = 190
"""Length of its colour bar in pixels."""
CURVE, CURVE_ROOM = 260, 34
"""Height of a curve, which stands beside the slider, and the room above it for its legend."""
KEPT = 240
"""Figures kept of each kind: those of several prompts, at a few views."""


def scores(result: DepthResult, view: View, *, corrected: bool, pair: tuple[int, int]) -> go.Figure:
    """The score map."""
    return _scores(result.key, view, corrected, pair, result)


def graph(
    result: DepthResult,
    view: View,
    *,
    corrected: bool,
    threshold: float,
    layout: Layout,
    pair: tuple[int, int],
) -> go.Figure:
    """The layer graph, its nodes coloured by depth: communities would change their colours."""
    return _graph(
        result.key, view, corrected, threshold, layout, pair, st.context.theme.type, result
    )


def paths(projected: Mapping[int, ProjectedPaths], step: int, *, token: int) -> go.Figure:
    """The paths in principal components."""
    every = tuple(projected)  # the axes span what is measured
    of = projected[step]
    return _paths(of.result.key, of.view, every, step, token, st.context.theme.type, projected)


def curve(runs: Runs, name: str, view: View, *, step: int, source: str) -> go.Figure:
    """One number by step, which is drawn anew only where the mark moves."""
    finish = _of_dark_page if st.context.theme.type == "dark" else _of_light_page
    return made(figures.by_step, runs, name, view, finish=finish, step=step, source=source)


def _of_light_page(figure: go.Figure) -> go.Figure:
    return _unmoved(figure, left=88, above=CURVE_ROOM).update_layout(height=CURVE)


def _of_dark_page(figure: go.Figure) -> go.Figure:
    return _inked(_of_light_page(figure), "dark")


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _scores(
    key: str, view: View, corrected: bool, pair: tuple[int, int], _result: DepthResult
) -> go.Figure:
    limit = figures.map_limit(view.k)
    figure = figures.scores(_result, view, corrected=corrected, selected=pair, limit=limit)
    figure.update_traces(colorbar_len=PANEL_BAR, selector={"type": "heatmap", "showscale": None})
    return figure.update_layout(height=PANEL)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _graph(
    key: str,
    view: View,
    corrected: bool,
    threshold: float,
    layout: Layout,
    pair: tuple[int, int],
    theme: str | None,
    _result: DepthResult,
) -> go.Figure:
    figure = figures.graph(
        _result,
        view,
        corrected=corrected,
        threshold=threshold,
        layout=layout,
        color="depth",
        selected=pair,
    )
    # The map beside it has the scale; a legend of the widths would take half of a narrow panel.
    figure.update_layout(height=PANEL, showlegend=False, xaxis_title_standoff=26)
    figure.data = [trace for trace in figure.data if trace.showlegend is False]
    return _inked(_unmoved(figure, above=48, below=64), theme)


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def _paths(
    key: str,
    view: PathView,
    every: tuple[int, ...],
    step: int,
    token: int,
    theme: str | None,
    _projected: Mapping[int, ProjectedPaths],
) -> go.Figure:
    figure = figures.paths_at(_projected, step, token=token)
    return _inked(_unmoved(figure, above=BAR_ROOM), theme).update_layout(height=PANEL)


def _unmoved(figure: go.Figure, *, left: int = 70, above: int = 80, below: int = 52) -> go.Figure:
    figure.update_xaxes(automargin=False).update_yaxes(automargin=False)
    margin = {"l": left, "t": above, "b": below, "autoexpand": False}
    return figure.update_layout(margin=margin)


def _inked(figure: go.Figure, theme: str | None) -> go.Figure:
    """On a dark page, what is in ink is white."""
    return in_white(figure) if theme == "dark" else figure
