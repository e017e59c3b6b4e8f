"""The Depth page over a list of prompts: the mean map, and where each prompt stands."""

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from coupling_core import figures
from coupling_core.analysis.over_prompts import OfPrompt, mean_scores, token_words
from coupling_core.base.records import Request
from coupling_core.base.units import counted
from explorer.asking import listing
from explorer.asking.several import counterpart, untrained_twin
from explorer.pages.depth import DepthState
from explorer.panels import over_list
from explorer.panels.chart import draw, made
from explorer.panels.drawer import selection, within
from explorer.panels.recipes import Recipes, many, measuring, raw, viewed
from explorer.panels.switches import COLOURS, MATRIX, SCORE, switches
from explorer.server.prompt_lists import PromptList
from explorer.session.plain_text import plain
from explorer.session.state import State

MAP = 560
"""Height of a map in pixels."""
GUIDE = """
**Mean map.** Each cell is the mean over the prompts of that pair's score, chance-corrected prompt
by prompt: the scores are averaged, not the matrices. Its colours span the same
range as those of a single prompt's map.

**Prompts.** Each dot is one prompt: its mean score over all pairs of the chosen blocks. An open
circle is the same prompt in the untrained twin. The line is the mean over the prompts and the band
its 95\u00a0% interval, by Student's *t*: of many such lists of prompts, 19 in 20 would have the
true mean in their band. It is the mean at the token that is measured, and at another token
it can differ. A click on a dot shows the prompt below, and the button under it shows it alone.

**Untrained twin.** The same architecture with fresh random weights, of one seed. Trained and
untrained are compared prompt by prompt: the interval of their difference and *p* are those of a
paired *t* test. *Chance* is something else: what a random basis gives, which is known without any
twin.

**How many.** Few prompts can overstate coupling: with fewer than 40 the page warns.
"""


def show(state: DepthState, listed: PromptList) -> None:
    """Draw the page for a list."""
    requests = listing.asked(state.request(), listed)
    view = over_list.view_of(state)
    look = over_list.scores_of, view, state.blocks
    is_trained = state.untrained is None
    twin_too = [untrained_twin(request) for request in requests] if is_trained else []
    found = over_list.measured(requests, *look, twin=twin_too)
    if not found:
        st.caption(f"This will show the mean {plain(words_of(state))}, and each prompt's own.")
        return
    corrected, twin = not state.raw, over_list.twin_of(requests, found, look)
    other = "trained" if requests[0].untrained is not None else "untrained"
    numbers = over_list.means(listed, found, view, corrected=corrected, twin=twin, other=other)
    verdict = over_list.judged(requests, found, twin, corrected=corrected)
    over_list.tell(numbers, words_of(state), verdict)
    differs = over_list.difference(found, twin, corrected=corrected, is_twin=not is_trained)
    at = token_words(list(found.values()))
    st.caption(" ".join([*differs, f"Measured at {plain(at)}."]))
    if not twin:
        over_list.offer_twin(requests, found, look)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        over_list.blocks_switch(next(iter(found.values())).n_blocks, "depth-list")
        switches((SCORE,), "depth-list", (MATRIX, COLOURS))
    _maps(state, listed, found, numbers)
    line = f"**{plain(next(iter(found.values())).model)}** · {plain(listed.title)} · K = {view.k}"
    outside = recipes("depth", requests[0], state, listed, view.k, beside=bool(twin))
    over_list.tools(numbers, outside, GUIDE, (), line)


def words_of(state: State) -> str:
    """What is averaged of each prompt."""
    score = "score c" if state.raw else "chance-corrected score"
    which = f"blocks {state.blocks}" if state.blocks else "blocks"
    of = " of the untrained twin" if state.untrained is not None else ""
    return f"{score} over all pairs of different {which}{of}"


def recipes(
    name: str,
    request: Request,
    state: State,
    listed: PromptList,
    k: int,
    *,
    beside: bool = False,
) -> Recipes:
    """How to come by the numbers of a list outside the app."""
    file = over_list.file_called(listed)
    told = {
        field: getattr(state, field)
        for field in ("definition", "role", "token", "final_norm")
        if getattr(state, field) != getattr(State, field)
    }
    return Recipes(
        many(
            *(request, "depth", file, "corrected", {"k": k} | told, state.blocks),
            twin=counterpart(request) if beside else None,
        ),
        measuring(name, request, {"k": k}, viewed(state, blocks=True), raw(state), prompts=file),
    )


def _maps(
    state: DepthState,
    listed: PromptList,
    found: Mapping[int, OfPrompt],
    numbers: over_list.Numbers,
) -> None:
    parts = list(found.values())
    pair = within(state, parts[0].n_blocks)
    left, right = st.columns(2, gap="large")
    with left:
        whose = ", untrained twin" * (state.untrained is not None)
        st.subheader(f"Mean over {counted(len(parts), 'prompt')}{whose}", anchor=False)
        figure = made(
            figures.mean_map,
            tuple(parts),
            listed.title,
            finish=_tall,
            corrected=not state.raw,
            auto_range=state.auto_range,
            selected=pair,
        )
        scores = [part.scores for part in parts]
        draw(
            figure,
            "scores",
            None,
            lambda: mean_scores(scores).to_pandas(),
            picks=("block", "basis"),
        )
        selection(parts[0].n_blocks, *pair)
        st.markdown(over_list.pair_words(found, pair, corrected=not state.raw))
    with right:
        st.subheader("Each prompt", anchor=False)
        over_list.strip_of(numbers, state.nth)
        over_list.by_category(numbers)


def _tall(figure: go.Figure) -> go.Figure:
    return figure.update_layout(height=MAP)
