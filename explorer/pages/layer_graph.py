"""The Layer graph page's figures: the graph beside the locality curve, the selected pair below."""

from typing import cast

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.exports.graph import ENDINGS, graph_file
from coupling_core.analysis.scores import Scores, score_pairs
from coupling_core.base.results import DepthResult, Result
from explorer.frame.shell import PAGES
from explorer.panels import guide
from explorer.panels.chart import Shown, draw
from explorer.panels.drawer import selected, selection
from explorer.panels.recipes import graph_recipes
from explorer.panels.strip import strip
from explorer.panels.switches import SCORE, Choice, switches, threshold, twin_switch
from explorer.session.session import address
from explorer.session.state import State


def show(answered: Result, state: State) -> None:
    """Draw a stored result."""
    result = cast(DepthResult, answered)
    view = state.view(result.n_blocks)
    shown = Shown(result, view)
    strip(*shown, guide.GRAPH, recipes=graph_recipes(result.request, view, state))
    pair = selected(result, state)
    _switches(state)
    left, right = st.columns((3, 2), gap="large")
    with right:  # first, for it is light: a click is answered before the graph is drawn anew
        _pair(result, state, pair)
        draw(
            figures.locality(*shown, corrected=not state.raw),
            "locality",
            shown,
            lambda: figures.locality_table(*shown, corrected=not state.raw),
        )
    with left:
        _graph(shown, state, pair)


def partial_graph(partial: Result, state: State) -> None:
    """The graph of what is measured so far; without what only the mouse needs."""
    result = cast(DepthResult, partial)
    figure = figures.graph(result, state.view(result.n_blocks), **_options(state))
    figure.data = [trace for trace in figure.data if trace.name != "edges"]
    st.plotly_chart(figure, key="partial", alt=figure.layout.meta["alt"])


_CHOICES: tuple[Choice, ...] = (
    ("Layout", "layout", {"line": "Line", "circle": "Circle", "spring": "Spring"}),
    ("Nodes coloured by", "node_color", {"community": "Community", "depth": "Depth"}),
    SCORE,
    ("Width and opacity", "auto_range", {False: "Fixed", True: "Auto"}),
)


def _switches(state: State) -> None:
    with st.container(horizontal=True, gap="medium"):
        twin_switch("Model", "graph")
        switches(_CHOICES, "graph")
        threshold("graph")


def _options(state: State) -> dict[str, object]:
    """What of the state the graph is drawn with."""
    return {
        "corrected": not state.raw,
        "threshold": state.threshold,
        "layout": state.layout,
        "color": state.node_color,
        "auto_range": state.auto_range,
    }


def _graph(shown: Shown, state: State, pair: tuple[int, int]) -> None:
    weighed = {"corrected": not state.raw, "threshold": state.threshold}
    figure = figures.graph(*shown, **_options(state), selected=pair)
    st.markdown(figure.layout.meta["summary"])
    draw(
        figure,
        "graph",
        shown,
        lambda: figures.edges_table(*shown, **weighed),
        picks=("block", "basis"),
    )
    with st.container(horizontal=True, gap="small"):
        for ending, label in zip(ENDINGS, ("GraphML", "Edges", "Arrays"), strict=True):
            st.download_button(
                f"{label} ({ending})",
                lambda ending=ending: graph_file(ending, *shown, **weighed),
                f"layer-graph{ending}",
                "application/octet-stream",
                key=f"graph{ending}",
                on_click="ignore",
            )


def _pair(result: DepthResult, state: State, pair: tuple[int, int]) -> None:
    """The selected pair in both directions, and the way to its matrices."""
    block, basis = pair
    st.subheader(f"Blocks {block} and {basis}", anchor=False)
    selection(result.n_blocks, block, basis)
    found = score_pairs(result, state.view())
    st.markdown(
        f"{_direction(found, block, basis)}  \n{_direction(found, basis, block)}"
        if block != basis
        else "A block in its own basis is coupled by construction, and is no edge."
    )
    st.page_link(
        PAGES["Depth"],
        label="Matrix, spectra and angles of this pair on Depth",
        icon=":material/arrow_forward:",
        query_params=address(),
    )


def _direction(found: Scores, block: int, basis: int) -> str:
    cell = block - 1, basis - 1
    return (
        f"Jacobian of {block} in the basis of {basis}: c = {found.coupling[cell]:.3f}, chance "
        f"floor {found.chance[cell]:.3f}, chance-corrected **{found.corrected[cell]:.3f}**"
    )
