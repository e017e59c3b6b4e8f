"""The Layer graph page's figures: the graph beside the locality curve, the selected pair below."""

from dataclasses import dataclass
from typing import Annotated, cast

import streamlit as st

from coupling_core import figures
from coupling_core.analysis.exports import file_name
from coupling_core.analysis.exports.graph import ENDINGS, graph_file
from coupling_core.analysis.locality import locality
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import NodeColor, Request, View
from coupling_core.base.results import DepthResult, Result, Scores
from coupling_core.base.units import rounded, with_minus
from explorer.pages import depth
from explorer.panels.chart import Shown, draw, draw_partial, ink, made
from explorer.panels.drawer import selected, selection
from explorer.panels.narrowed import narrowed
from explorer.panels.page import Page
from explorer.panels.recipes import Recipes, call, measuring, program, raw, viewed
from explorer.panels.strip import strip
from explorer.panels.switches import SCORE, Choice, switches, threshold, twin_switch
from explorer.session.link import Parameter
from explorer.session.session import address
from explorer.session.state import State

GUIDE = """
**Graph.** Each node is a block, each edge a pair of blocks whose score reaches the threshold; the
wider and the more opaque it is, the more they are coupled. An edge has no direction: it is the mean
of the Jacobian of *l* in the basis of *l'* and the other way round, which the numbers of the
selected pair tell apart. Click on an edge, or on a node, which takes its strongest partner along.

**Communities** (Louvain) are groups of blocks that are coupled more among themselves than at
random. Even noise has communities, and a modularity above 0: look whether the untrained twin, at
the same threshold, has any edge at all.

**Locality.** The mean score against how many blocks apart two blocks are. Training makes near
blocks more alike than far ones; far to the right only few pairs are left.

**Raw or chance-corrected.** The papers' graphs draw the raw score. With *K* = 50 that lies near
0.86 for every pair, trained or not, so that the graphs look alike: the chance-corrected score is
what tells them apart.
"""


@dataclass(frozen=True)
class GraphState(State):
    """What is chosen on this page.

    Args:
        node_color: what colours the nodes.
    """

    node_color: Annotated[NodeColor, Parameter("nodes")] = "community"


PAGE = Page(
    "Layer graph",
    "pages/4_Layer_graph.py",
    state=GraphState,
    guide=GUIDE,
    asks_twin=False,
    takes_lists=True,
)


def recipes(request: Request, view: View, state: GraphState) -> Recipes:
    """How to come by the edges of the graph outside the app."""
    given = {"corrected": (not state.raw, True), "threshold": (state.threshold, State.threshold)}
    more = "".join(f", {n}={value!r}" for n, (value, default) in given.items() if value != default)
    scores = call(view).replace("View", "scores", 1)
    names = "graph.edges(data=True))  # of networkx; see also graph.nodes(data=True)"
    options = viewed(state, blocks=True) | {
        "threshold": (f"{state.threshold:.12g}", f"{State.threshold:.12g}"),
        "layout": (state.layout, State.layout),
        "color": (state.node_color, GraphState.node_color),
    }
    flags = [*raw(state), *(["--auto-range"] if state.auto_range else [])]
    return Recipes(
        program(request, None, "layer_graph", names, f".{scores}{more}", "graph"),
        measuring("graph", request, {"k": view.k}, options, flags),
    )


def show(answered: Result, state: GraphState) -> None:
    """Draw a stored result."""
    result = cast(DepthResult, answered)
    view = state.view(result)
    shown = Shown(result, view)
    strip(*shown, recipes(result.request, view, state), GUIDE)
    pair = selected(result, state)
    _switches(state)
    left, right = st.columns((3, 2), gap="large")
    with right:  # first, for it is light: a click is answered before the graph is drawn anew
        _pair(result, state, pair)
        draw(
            made(figures.locality, *shown, corrected=not state.raw),
            "locality",
            shown,
            lambda: locality(score_pairs(*shown), corrected=not state.raw).to_pandas(),
        )
    with left:
        _graph(shown, state, pair)


def partial_graph(partial: Result, state: GraphState) -> None:
    """The graph of what is measured so far; without what only the mouse needs."""
    result = cast(DepthResult, partial)
    figure = figures.graph(result, state.view(result), **_options(state))
    if whitened := ink():
        figure = whitened(figure)
    draw_partial(figure, without="edges")


CHOICES: tuple[Choice, ...] = (
    ("Layout", "layout", {"line": "Line", "circle": "Circle", "spring": "Spring"}),
    ("Nodes coloured by", "node_color", {"community": "Community", "depth": "Depth"}),
    SCORE,
    ("Width and opacity", "auto_range", {False: "Fixed", True: "Auto"}),
)


def _switches(state: GraphState) -> None:
    with st.container(horizontal=True, gap="medium"):
        twin_switch("Model", "graph")
        switches(CHOICES, "graph")
        threshold("graph")


def _options(state: GraphState) -> dict[str, object]:
    """What of the state the graph is drawn with."""
    return {
        "corrected": not state.raw,
        "threshold": state.threshold,
        "layout": state.layout,
        "color": state.node_color,
        "auto_range": state.auto_range,
    }


def _graph(shown: Shown, state: GraphState, pair: tuple[int, int]) -> None:
    weighed = {"corrected": not state.raw, "threshold": state.threshold}
    figure = made(figures.graph, *shown, finish=ink(), **_options(state), selected=pair)
    st.markdown(with_minus(figure.layout.meta["summary"]))
    narrowed(state, shown.result.n_blocks)
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
                file_name(*shown, "layer graph", ending),
                "application/octet-stream",
                key=f"graph{ending}",
                on_click="ignore",
            )


def _pair(result: DepthResult, state: State, pair: tuple[int, int]) -> None:
    """The selected pair in both directions, and the way to its matrices."""
    block, basis = pair
    st.subheader(f"Blocks {block} and {basis}", anchor=False)
    selection(result.n_blocks, block, basis)
    found = score_pairs(result, state.view(result, blocks=False))
    st.markdown(
        with_minus(f"{_direction(found, block, basis)}  \n{_direction(found, basis, block)}")
        if block != basis
        else "A block in its own basis is coupled by construction, and is no edge."
    )
    st.page_link(
        depth.PAGE.file,
        label="Matrix, spectra and angles of this pair on Depth",
        icon=":material/arrow_forward:",
        query_params=address(),
    )


def _direction(found: Scores, block: int, basis: int) -> str:
    cell = block - 1, basis - 1
    return (
        f"Jacobian of {block} in the basis of {basis}: c = {found.coupling[cell]:.3f}, chance "
        f"floor {found.chance[cell]:.3f}, chance-corrected **{rounded(found.corrected[cell])}**"
    )
