"""The Start page's three linked panels: the score map, and one pair trained and untrained."""

from dataclasses import replace
from pathlib import Path

import streamlit as st

from coupling_core.analysis.verdict import MIDDLE, Verdict
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted, ranges, with_minus
from explorer.asking.compute import show_prompt, tell_gone
from explorer.asking.several import offer, together, untrained_twin
from explorer.pages import depth, ten_findings
from explorer.pages.tour import page as tour
from explorer.pages.training import page as training
from explorer.panels.chart import Shown, draw_named, third
from explorer.panels.drawer import inputs, matrix, selected
from explorer.panels.narrowed import narrowed
from explorer.panels.page import Page
from explorer.panels.prompt_picker import kind_of, kinds, one_line, pick_kind
from explorer.panels.strip import strip
from explorer.panels.switches import twin_switch
from explorer.panels.way import way
from explorer.panels.whole import whole
from explorer.server import backend, prompt_lists
from explorer.server.prompt_lists import SHIPPED
from explorer.session.plain_errors import plain_errors
from explorer.session.plain_text import plain
from explorer.session.session import address, bound, change
from explorer.session.state import State

QUESTION = (
    "Two blocks share a basis where their matrix has a bright diagonal on a dark ground. Click a "
    "cell of the map to see the matrix of another pair."
)
EXPLANATION = """
Each block of a transformer moves a token's state a little. Its **Jacobian** is the linear part of
that move, and the Jacobian's top singular vectors are the directions it acts on most. If two blocks
are **coupled**, the directions of one diagonalise the Jacobian of the other: the matrix of that
pair then shows a bright diagonal on a dark ground. Training makes this happen; the untrained twin,
the same network with random weights, shows no such diagonal.
"""
MAPS = "start-maps"
"""Key of what holds the three figures."""
_STYLE = Path(__file__).with_suffix(".css").read_text()
PAGE = Page("Start", "app.py", "Learn", asks_twin=False)
_AND_THEN = {
    tour.PAGE: "New to this? What coupling is, in ten minutes",
    training.PAGE: "Watch coupling come about in training",
}


def show(state: State) -> None:
    """Draw the page."""
    st.html(f"<style>{_STYLE}</style>")
    st.title("Do a transformer's blocks share one basis?", anchor=False)
    request = state.request()
    trained = backend.find(replace(request, untrained=None))
    twin = backend.find(untrained_twin(request))
    mapped = (trained if state.untrained is None else twin) or trained
    found = depth.judged(trained, twin, state) if trained else None
    if found:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f"**{plain(with_minus(str(found)))}**", width="content")
            _over_many(state, found)
            if mapped:
                narrowed(state, mapped.n_blocks)
        whole().sentences += [str(found), found.reason]
    if mapped is None:
        _choices(state)
        _measure(state)
    else:
        tell_gone(request)
        _panels(state, mapped, trained, twin)
    st.markdown(EXPLANATION)
    if found:
        st.caption(plain(found.reason))
    _own_sentence()
    ten_findings.show()
    for page, label in _AND_THEN.items():
        st.page_link(
            page.file, label=label, icon=":material/arrow_forward:", query_params=address()
        )


def _measure(state: State) -> None:
    """Offer to measure a prompt that is not stored, and its twin with it."""
    request = replace(state.request(), untrained=None)
    both = {"trained model": request, "untrained twin": untrained_twin(request)}
    with plain_errors():
        show_prompt(request)
        together(both, "Compute")


def _own_sentence() -> None:
    """A text typed here opens on Depth, which says what it costs before it computes."""
    text = st.text_input(
        "Your own sentence",
        key="own@start",
        placeholder="Type it and press Enter. You see what it costs before it is measured",
    )
    if text.strip():
        change(prompt=text)
        st.switch_page(depth.PAGE.file)


def _choices(state: State, n_blocks: int = 0, pair: tuple[int, int] = (0, 0)) -> None:
    """Prompt, twin and, where there are maps, the pair that is drawn of them."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        pick_kind("kind@start")
        kind = kind_of(state.prompt)
        of_kind = kinds()[kind]
        bound(
            st.pills,
            "Example prompt",
            "prompt",
            of_kind,
            place=f"start-{kind}",  # else the browser may send what another kind's are called
            format_func=one_line,
            write=lambda text: text if text in of_kind else None,
            required=state.prompt in of_kind,
        )
        twin_switch("Score map of the", "start")
        if n_blocks:
            inputs(n_blocks, *pair)


def _over_many(state: State, found: Verdict) -> None:
    """The way to the same question over many prompts, of the same blocks: those chosen, if any."""
    listed = prompt_lists.get(state.prompts or SHIPPED) or prompt_lists.get(SHIPPED)
    if listed is None:
        return
    blocks = {"blocks": ranges(MIDDLE)} if found.blocks == MIDDLE else {}
    whose = "your " if state.prompts and listed.name != SHIPPED else ""
    way(
        depth.PAGE,
        f"The same over {whose}{counted(len(listed.prompts), 'prompt')}"
        + ", or your own" * (not whose),
        prompts=listed.name,
        untrained=None,
        **blocks,
    )


def _panels(
    state: State,
    mapped: DepthResult,
    trained: DepthResult | None,
    twin: DepthResult | None,
) -> None:
    shown = Shown(mapped, state.view(mapped))
    block, basis = selected(mapped, state)
    with st.container(key=MAPS):
        left, middle, right = st.columns(3, gap="small")
    with left:
        which = "trained" if mapped is trained else "untrained"
        st.subheader(f"Score of every pair, {which}", anchor=False)
        draw_named(
            "scores",
            shown,
            picks=("block", "basis"),
            finish=third,
            corrected=not state.raw,
            auto_range=state.auto_range,
            selected=(block, basis),
        )
    with middle:
        st.subheader(f"Blocks {block} and {basis}, trained", anchor=False)
        _matrix("trained model", trained, state, (block, basis))
    with right:
        st.subheader(f"Blocks {block} and {basis}, untrained", anchor=False)
        _matrix("untrained twin", twin, state, (block, basis))
    st.caption(QUESTION)
    _choices(state, mapped.n_blocks, (block, basis))
    strip(*shown, depth.recipes(mapped.request, shown.view, state), depth.GUIDE)


def _matrix(which: str, result: DepthResult | None, state: State, pair: tuple[int, int]) -> None:
    """One coupling matrix; every matrix has the same colour range, so that the two compare."""
    if result is None:
        asked = state.request()
        is_twin = which.startswith("untrained")
        offer(which, untrained_twin(asked) if is_twin else replace(asked, untrained=None))
        return
    shown, name = Shown(result, state.view(result)), f"matrix-{which.split()[0]}"
    matrix(shown, pair, name, finish=third, magnitude=not state.signed)
