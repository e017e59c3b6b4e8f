"""The Start page's three linked panels: the score map, and one pair trained and untrained."""

from dataclasses import replace

import streamlit as st

from coupling_core import figures
from coupling_core.base.results import DepthResult
from coupling_core.experiments.gallery import EXAMPLES, UNTRAINED_SEED
from explorer.asking.compute import tell_gone
from explorer.pages import depth
from explorer.pages.training import page as training
from explorer.panels.chart import Shown, draw, made, third
from explorer.panels.drawer import selected, selection
from explorer.panels.page import Page
from explorer.panels.strip import strip
from explorer.panels.switches import twin_switch
from explorer.server import backend
from explorer.session.session import address, bound, change
from explorer.session.state import State

INTRODUCTION = """
Each block of a transformer moves a token's state a little. Its **Jacobian** is the linear part of
that move, and the Jacobian's top singular vectors are the directions it acts on most. If two blocks
are **coupled**, the directions of one diagonalise the Jacobian of the other: the matrix of that
pair then shows a bright diagonal on a dark ground. Training makes this happen; the untrained twin,
the same network with random weights, shows no such diagonal.
"""
PAGE = Page("Start", "app.py")


def show(state: State) -> None:
    """Draw the page."""
    st.title("Do a transformer's blocks share one basis?", anchor=False)
    st.markdown(INTRODUCTION)
    _choices(state)
    request = state.request()
    seed = UNTRAINED_SEED if state.untrained is None else state.untrained
    trained = backend.find(replace(request, untrained=None))
    # An untrained twin has no quantised form.
    twin = backend.find(replace(request, untrained=seed, quantize=None))
    mapped = trained if state.untrained is None else twin
    if mapped is None:
        st.info("This is not measured yet. Choose an example above, or compute it on Depth.")
    else:
        tell_gone(request)
        _panels(state, mapped, trained, twin)
    _own_sentence()
    st.page_link(
        training.PAGE.file,
        label="How coupling comes about: drag a slider over the checkpoints of a training run",
        icon=":material/arrow_forward:",
        query_params=address(),
    )


def _own_sentence() -> None:
    """A text typed here opens on Depth, which says what it costs before it computes."""
    text = st.text_input(
        "Your own sentence",
        key="own@start",
        placeholder="Type it and press Enter: its tokens and its cost come first",
    )
    if text.strip():
        change(prompt=text)
        st.switch_page(depth.PAGE.file)


def _choices(state: State) -> None:
    with st.container(horizontal=True, gap="medium"):
        bound(
            st.pills,
            "Example prompt",
            "prompt",
            EXAMPLES,
            place="start",
            format_func=lambda text: " ".join(text.split()),
            write=lambda text: text if text in EXAMPLES else None,
            required=state.prompt in EXAMPLES,
        )
        twin_switch("Score map of", "start")


def _panels(
    state: State, mapped: DepthResult, trained: DepthResult | None, twin: DepthResult | None
) -> None:
    shown = Shown(mapped, state.view(mapped.n_blocks))
    block, basis = selected(mapped, state)
    strip(*shown, depth.recipes(mapped.request, shown.view, state), depth.GUIDE)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        which = "trained" if mapped is trained else "untrained"
        st.subheader(f"Score of every pair, {which}", anchor=False)
        figure = made(
            figures.scores,
            *shown,
            finish=third,
            corrected=not state.raw,
            auto_range=state.auto_range,
            selected=(block, basis),
        )
        draw(
            figure,
            "scores",
            shown,
            lambda: figures.scores_table(*shown),
            picks=("block", "basis"),
        )
        selection(mapped.n_blocks, block, basis)
    with middle:
        st.subheader(f"Blocks {block} and {basis}, trained", anchor=False)
        _matrix("trained", trained, state, (block, basis))
    with right:
        st.subheader(f"Blocks {block} and {basis}, untrained", anchor=False)
        _matrix("untrained", twin, state, (block, basis))


def _matrix(which: str, result: DepthResult | None, state: State, pair: tuple[int, int]) -> None:
    """One coupling matrix; every matrix has the same colour range, so that the two compare."""
    if result is None:
        st.info(f"The {which} model is not measured for this prompt yet.")
        return
    view = state.view(result.n_blocks)
    figure = made(figures.matrix, result, *pair, view, finish=third, magnitude=not state.signed)
    draw(
        figure,
        f"matrix-{which}",
        Shown(result, view),
        lambda: figures.matrix_table(result, *pair, view),
    )
