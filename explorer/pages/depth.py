"""The Depth page's figures: mosaic and score map side by side, the selected pair below."""

from dataclasses import dataclass, replace
from typing import Annotated

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.verdict import Verdict, verdict
from coupling_core.base.records import Request, View, parse_blocks
from coupling_core.base.results import DepthResult
from coupling_core.base.units import with_minus
from coupling_core.experiments.gallery import EXAMPLES
from explorer.asking.several import offer_twin, stored_twin
from explorer.pages.directions import page as directions
from explorer.panels.chart import Shown, draw_named, draw_partial
from explorer.panels.drawer import drawer, selected, selection
from explorer.panels.first_paint import painted
from explorer.panels.kept import kept
from explorer.panels.narrowed import narrowed
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, measuring, program, raw, viewed
from explorer.panels.strip import strip
from explorer.panels.switches import (
    COLOURS,
    ENTRIES,
    MATRIX,
    SCORE,
    Choice,
    above_figures,
    switches,
)
from explorer.panels.way import way
from explorer.server import backend
from explorer.session.link import Flag, Parameter
from explorer.session.plain_text import plain
from explorer.session.state import State

MAP = 620
"""Height of each map in pixels: a square in half the page."""
FIGURE_3 = tuple(range(9, 17))
"""The blocks of the paper's Figure 3."""
MAX_MOSAIC = 24
"""Most blocks a side that a mosaic shows; beyond it a stride is taken."""
GUIDE = """
**Score map.** Row *l* is the block whose Jacobian is taken, column *l'* the block whose top *K*
singular vectors serve as the basis. The colour says how nearly that basis diagonalises that
Jacobian: 1 is fully coupled, 0 is what a basis that has nothing to do with it would give. The
diagonal compares a block with itself; it is 1 by construction and enters no mean.

**Mosaic.** Each square is one coupling matrix. A bright diagonal on a dark square means that the
singular vectors of block *l'* are nearly those of block *l*, in the same order.

**A pair.** Click a cell. Where the singular values nearly tie at *K* (a gap close to 1), single
vectors are arbitrary: trust the angles between the subspaces more than any one row of the matrix.

**Colours** span a fixed range, so that two views compare; *auto range* gives that up and says so.
"""


@dataclass(frozen=True)
class DepthState(State):
    """What is chosen on this page.

    Args:
        figure_3: whether the mosaic shows the paper's blocks 9-16 rather than the block range.
    """

    figure_3: Annotated[Flag, Parameter("fig3")] = True

    def mosaic_blocks(self, n_blocks: int) -> tuple[tuple[int, ...], int]:
        """Blocks of the mosaic and the stride that keeps them few enough to be seen."""
        chosen = parse_blocks(self.blocks, n_blocks)
        if self.figure_3 and n_blocks >= FIGURE_3[-1]:
            chosen = FIGURE_3
        stride = -(-len(chosen) // MAX_MOSAIC)
        return chosen[::stride], stride


PAGE = Page(
    "Depth", "pages/1_Depth.py", state=DepthState, kinds=("depth",), guide=GUIDE, takes_lists=True
)


def recipes(request: Request, view: View, state: State) -> Recipes:
    """How to come by the scores outside the app."""
    names = "found.corrected)  # row l, column l'; see also found.coupling, found.chance"
    options = viewed(state, blocks=True)
    return Recipes(
        program(request, view, "score_pairs", names),
        measuring("depth", request, {"k": view.k}, options, raw(state)),
    )


def show(result: DepthResult, state: DepthState) -> None:
    """Draw a stored result."""
    shown = Shown(result, state.view(result))
    block, basis = selected(result, state)
    with st.container():
        with above_figures("depth"):
            strip(*shown, recipes(result.request, shown.view, state), GUIDE)
            twin = stored_twin(result.request)
            if twin and (found := judged(result, twin, state)):
                st.markdown(plain(with_minus(str(found))))
            offer_twin(result.request)
            _switches(result.n_blocks)
        left, right = st.columns(2, gap="large")
        with left:
            _mosaic(result, state)
        with right:
            _scores(shown, state, (block, basis))
    if not painted():
        return
    st.header(f"Block {block} in the basis of block {basis}", anchor=False)
    selection(result.n_blocks, block, basis)
    drawer(shown, state, block, basis)
    way(directions.PAGE, f"What the directions of block {basis} read, write and do", block=basis)


def judged(trained: DepthResult, twin: DepthResult | None, state: State) -> Verdict | None:
    """Whether blocks are coupled, in words and numbers of stored results alone."""
    view = state.view(trained, *([twin] if twin else []))
    examples = [backend.find(replace(trained.request, prompt=text)) for text in EXAMPLES]
    every = tuple(found for found in examples if found) if all(examples) else ()
    return kept(verdict, trained, twin, view, every, corrected=not state.raw)


def partial_map(result: DepthResult, state: State) -> None:
    """The score map of what is measured so far; it fills in row by row."""
    view = state.view(result)
    figure = figures.scores(result, view, corrected=not state.raw, auto_range=state.auto_range)
    draw_partial(figure, without="pairs")


_CHOICES: tuple[Choice, ...] = (ENTRIES, SCORE)
_ADVANCED: tuple[Choice, ...] = (MATRIX, COLOURS)
_BLOCKS: Choice = (
    "Mosaic",
    "figure_3",
    {True: "Blocks 9-16 (Figure 3)", False: "All, or the chosen blocks"},
)


def _switches(n_blocks: int) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        has_figure_3 = n_blocks >= FIGURE_3[-1]
        switches((*_CHOICES, _BLOCKS) if has_figure_3 else _CHOICES, "depth", _ADVANCED)


def _mosaic(result: DepthResult, state: DepthState) -> None:
    blocks, stride = state.mosaic_blocks(result.n_blocks)
    if stride > 1:
        st.caption(f"More than {MAX_MOSAIC} blocks: one in {stride} is drawn.")
    view = replace(state.view(result), blocks=blocks)
    draw_named(
        "mosaic",
        Shown(result, view),
        picks=("block", "basis"),
        finish=_tall,
        magnitude=not state.signed,
        auto_range=state.auto_range,
    )


def _tall(figure: go.Figure) -> go.Figure:
    return figure.update_layout(height=MAP)


def _scores(shown: Shown, state: State, pair: tuple[int, int]) -> None:
    narrowed(state, shown.result.n_blocks)
    draw_named(
        "scores",
        shown,
        picks=("block", "basis"),
        finish=_tall,
        corrected=not state.raw,
        auto_range=state.auto_range,
        selected=pair,
    )
