"""The Layer graph page over a list of prompts: the graph of the mean scores."""

from collections.abc import Mapping

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.graph import graph_edges
from coupling_core.analysis.over_prompts import OfPrompt, mean_graph
from coupling_core.base.units import with_minus
from explorer.asking import listing
from explorer.pages import depth_list
from explorer.pages.layer_graph import CHOICES, GraphState
from explorer.panels import over_list
from explorer.panels.chart import draw, ink, made
from explorer.panels.drawer import selection, within
from explorer.panels.switches import switches, threshold, twin_switch
from explorer.server.prompt_lists import PromptList
from explorer.session.plain_text import plain

GUIDE = """
**Graph.** An edge is as strong as the mean over the prompts of the pair's score, chance-corrected
prompt by prompt, and over both directions.

**Prompts.** Each dot is one prompt: its mean score over all pairs of different blocks, with the
mean over the prompts and its 95\u00a0% interval. A click on a dot shows the prompt.
"""


def show(state: GraphState, listed: PromptList) -> None:
    """Draw the page for a list.

    Args:
        state: what is chosen.
        listed: the list.
    """
    requests = listing.asked(state.request(), listed)
    view = over_list.view_of(state)
    found = over_list.measured(requests, over_list.scores_of, view, state.blocks)
    if not found:
        with st.container(horizontal=True, gap="medium"):
            twin_switch("Model", "graph")
        return
    numbers = over_list.means(listed, found, view, corrected=not state.raw)
    over_list.tell(numbers, depth_list.words_of(state))
    with st.container(horizontal=True, gap="medium"):
        twin_switch("Model", "graph")
        over_list.blocks_switch(next(iter(found.values())).n_blocks, "graph")
        switches(CHOICES, "graph")
        threshold("graph")
    left, right = st.columns((3, 2), gap="large")
    parts = list(found.values())
    pair = within(state, parts[0].n_blocks)
    with right:
        over_list.strip_of(numbers, state.nth)
        st.subheader(f"Blocks {pair[0]} and {pair[1]}", anchor=False)
        selection(parts[0].n_blocks, *pair)
        for one in (pair, pair[::-1]):
            st.markdown(over_list.pair_words(found, one, corrected=not state.raw))
    with left:
        _graph(state, listed, found, pair)
    line = f"**{plain(parts[0].model)}** · {plain(listed.title)} · K = {view.k}"
    outside = depth_list.recipes("graph", requests[0], state, listed, view.k)
    over_list.tools(numbers, outside, GUIDE, (), line)


def _graph(
    state: GraphState,
    listed: PromptList,
    found: Mapping[int, OfPrompt],
    pair: tuple[int, int],
) -> None:
    parts = list(found.values())
    figure = made(
        figures.mean_graph,
        tuple(parts),
        listed.title,
        finish=ink(),
        corrected=not state.raw,
        threshold=state.threshold,
        layout=state.layout,
        color=state.node_color,
        auto_range=state.auto_range,
        selected=pair,
    )
    st.markdown(with_minus(figure.layout.meta["summary"]))
    weighed = {"corrected": not state.raw, "threshold": state.threshold}
    draw(
        figure,
        "graph",
        None,
        lambda: graph_edges(mean_graph(parts, **weighed)),
        picks=("block", "basis"),
    )
