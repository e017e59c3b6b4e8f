"""The What if page's figures: the effect of each edit, beside the coupling of the same blocks."""

from dataclasses import dataclass
from functools import partial
from typing import cast

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.coupling_effect import PairEdit
from coupling_core.analysis.exports import frame
from coupling_core.base.records import EffectView, Request
from coupling_core.base.results import DepthResult, WhatIfResult
from explorer.asking.compute import answer
from explorer.pages.what_if import pair, study
from explorer.panels.chart import Shown, draw, draw_named, draw_partial, made
from explorer.panels.drawer import selection, within
from explorer.panels.first_paint import painted
from explorer.panels.narrowed import narrowed
from explorer.panels.page import Page
from explorer.panels.pruning import pruning_plan
from explorer.panels.recipes import Recipes, measuring, program
from explorer.panels.strip import strip
from explorer.panels.switches import switches
from explorer.session.state import State

MAP = 560
"""Height of each map in pixels: a square in half the page."""
GUIDE = """
**Maps.** Left, the coupling of two blocks; right, what it costs to interchange them, or to run one
in the other's place: the divergence of what the model then says from what it says, in nats, on a
logarithmic scale. A cell that is grey cannot be run, and says why. A click on either map selects
the pair on both.

**Distance.** Blocks that lie near one another are both more coupled and more cheaply interchanged.
That two maps look alike is therefore not yet evidence that coupling is what makes blocks
interchangeable. The numbers *given distance* below are what is left once distance is accounted for.

**Block by block.** A block that is skipped, run twice, or damped. Where the curve of skipping is
low, the model hardly misses the block on this prompt.

**First order.** To first order, interchanging two neighbours changes the state by their commutator,
*J'f - Jf'*. Where the points lie on the dotted line it predicts the size of the change.
"""


@dataclass(frozen=True)
class WhatIfState(State):
    """What is chosen on this page.

    Args:
        edit: of two blocks, whose effects are drawn as a map.
    """

    edit: PairEdit = "interchange"


PAGE = Page(
    "What if", "pages/9_What_if.py", "Why", state=WhatIfState, kinds=("what-if",), guide=GUIDE
)
VIEW = EffectView()


def recipes(request: Request) -> Recipes:
    """How to come by the effects outside the app."""
    names = "found.interchange)  # nats; see also found.replace, found.skip"
    return Recipes(
        program(request, VIEW, "effect_maps", names), measuring("whatif", request, {}, {})
    )


def show(result: WhatIfResult, state: WhatIfState) -> None:
    """Draw a stored result."""
    strip(result, VIEW, recipes(result.request), GUIDE)
    # The line above says where it comes from.
    st.markdown(result.part("views").verdict(result, VIEW))
    chosen = within(state, result.n_blocks)
    names: dict[PairEdit, str] = {"interchange": "Interchanged", "replace": "Replaced"}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        switches([("Two blocks are", "edit", names)], "what-if")
        narrowed(state, result.n_blocks)
    left, right = st.columns(2, gap="large")
    with right:
        _effects(result, state, chosen)
    with left:
        depth = _coupling(state, chosen)
    selection(result.n_blocks, *chosen)
    if not painted():
        return
    known = () if depth is None else (depth,)
    pair.show(result, depth, state.edit, chosen, state.view(*known))
    _single(result)
    study.show(result, depth, state.k, state.edit)
    pruning_plan(state.model)


def partial_effects(result: WhatIfResult, state: WhatIfState) -> None:
    """The map so far; edits of single blocks are run before those of two."""
    draw_partial(figures.effects_by_block(result, VIEW))


def _effects(result: WhatIfResult, state: WhatIfState, chosen: tuple[int, int]) -> None:
    figure = made(figures.effects, result, VIEW, state.edit, finish=_tall, selected=chosen)
    shown, table = Shown(result, VIEW), partial(frame, result, VIEW)
    draw(figure, "effects", shown, table, picks=("block", "basis"))


def _coupling(state: WhatIfState, chosen: tuple[int, int]) -> DepthResult | None:
    """The Depth page's map of the same prompt, measured where it was not yet."""
    found = cast(DepthResult | None, answer(state.request(), lambda _: None))
    if found is not None:
        draw_named(
            "scores",
            Shown(found, state.view(found)),
            picks=("block", "basis"),
            finish=_tall,
            corrected=not state.raw,
            selected=chosen,
        )
    return found


def _single(result: WhatIfResult) -> None:
    """What becomes of edits of one block, and of neighbours to first order."""
    shown, table = Shown(result, VIEW), partial(frame, result, VIEW)
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Block by block", anchor=False)
        draw(made(figures.effects_by_block, result, VIEW), "effects-by-block", shown, table)
    with right:
        st.header("Neighbours, to first order", anchor=False)
        exchanges = partial(figures.exchange_table, result)
        draw(made(figures.exchange, result), "exchange", shown, exchanges)


def _tall(figure: go.Figure) -> go.Figure:
    return figure.update_layout(height=MAP)
