"""The Depth page's figures: mosaic and score map side by side, the selected pair below."""

from dataclasses import replace

import streamlit as st

from coupling_core import figures
from coupling_core.base.results import DepthResult
from explorer.panels import guide
from explorer.panels.chart import Shown, draw
from explorer.panels.drawer import drawer, selected, selection
from explorer.panels.strip import strip
from explorer.panels.switches import COLOURS, ENTRIES, MATRIX, SCORE, Choice, switches
from explorer.session.state import FIGURE_3, MAX_MOSAIC, State

MAP = 620
"""Height of each map in pixels: a square in half the page."""


def show(result: DepthResult, state: State) -> None:
    """Draw a stored result."""
    shown = Shown(result, state.view(result.n_blocks))
    strip(*shown, guide.DEPTH)
    block, basis = selected(result, state)
    _switches(result.n_blocks)
    left, right = st.columns(2, gap="large")
    with left:
        _mosaic(result, state)
    with right:
        _scores(shown, state, (block, basis))
    st.header(f"Block {block} in the basis of block {basis}", anchor=False)
    selection(result.n_blocks, block, basis)
    drawer(shown, state, block, basis)


def partial_map(result: DepthResult, state: State) -> None:
    """The score map of what is measured so far; it fills in row by row."""
    view = state.view(result.n_blocks)
    figure = figures.scores(result, view, corrected=not state.raw, auto_range=state.auto_range)
    # Drawn twice a second beside the measurement: without what only the mouse needs.
    figure.data = [trace for trace in figure.data if trace.name != "pairs"]
    st.plotly_chart(figure, key="partial", alt=figure.layout.meta["alt"])


_CHOICES: tuple[Choice, ...] = (
    MATRIX,
    ENTRIES,
    SCORE,
    COLOURS,
)
_BLOCKS: Choice = (
    "Mosaic",
    "figure_3",
    {True: "Blocks 9-16 (Figure 3)", False: "Blocks of the sidebar"},
)


def _switches(n_blocks: int) -> None:
    with st.container(horizontal=True, gap="medium"):
        has_figure_3 = n_blocks >= FIGURE_3[-1]
        switches((*_CHOICES, _BLOCKS) if has_figure_3 else _CHOICES, "depth")


def _mosaic(result: DepthResult, state: State) -> None:
    blocks, stride = state.mosaic_blocks(result.n_blocks)
    if stride > 1:
        st.caption(f"More than {MAX_MOSAIC} blocks: one in {stride} is drawn.")
    view = replace(state.view(), blocks=blocks)
    figure = figures.mosaic(result, view, magnitude=not state.signed, auto_range=state.auto_range)
    draw(
        figure.update_layout(height=MAP),
        "mosaic",
        Shown(result, view),
        lambda: figures.scores_table(result, view),
        picks=("block", "basis"),
    )


def _scores(shown: Shown, state: State, pair: tuple[int, int]) -> None:
    figure = figures.scores(
        *shown,
        corrected=not state.raw,
        auto_range=state.auto_range,
        selected=pair,
    )
    draw(
        figure.update_layout(height=MAP),
        "scores",
        shown,
        lambda: figures.scores_table(*shown),
        picks=("block", "basis"),
    )
