"""Caption and alternative text of the layer graph."""

from operator import itemgetter
from typing import TYPE_CHECKING

from coupling_core.analysis.graph import communities_words, edges_words, last_block_words
from coupling_core.base.records import View
from coupling_core.base.units import counted
from coupling_core.figures import style

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx


def graph_alt(subject: str, view: View, graph: "nx.Graph") -> str:
    """What the layer graph shows, with its main numbers."""
    text = (
        f"Graph of {counted(graph.number_of_nodes(), 'block')} of {subject}: "
        f"{edges_words(graph)}. Weights are the {graph.graph['weight_meaning']} "
        f"({style.score_terms(view)})."
    )
    if graph.number_of_edges():
        block, basis, weight = max(graph.edges(data="weight"), key=itemgetter(2))
        text += f" The strongest edge joins blocks {block} and {basis} with {weight:.3f}."
    return f"{text} {_groups(graph)}"


def graph_summary(graph: "nx.Graph") -> str:
    """How many pairs are edges, and the communities."""
    return f"{edges_words(graph)}. {_groups(graph)}"


def _groups(graph: "nx.Graph") -> str:
    """The communities, and how many edges the last block has."""
    return " ".join(filter(None, [communities_words(graph), last_block_words(graph)]))


def graph_caption(
    layout: str, color: str, corrected: bool, auto_range: bool, *, any_edge: bool
) -> str:
    """How the layer graph is read."""
    where = {
        "line": "Blocks lie in order"
        + (", and an arc is as high as its blocks are apart." if any_edge else "."),
        "circle": "Blocks run clockwise from the top.",
        "spring": "Blocks that are coupled pull each other close."
        if any_edge
        else "No two blocks have an edge, which would pull them close.",
    }[layout]
    if color == "depth":
        where += " The first block is blue, and the last one yellow."
    if not any_edge:
        return where
    scale = "over what is drawn (auto range)" if auto_range else "on a fixed scale"
    return (
        f"{where} Width and opacity show the {style.score_name(corrected).lower()}, the mean of "
        f"both directions, {scale}."
    )


def graph_on_page(layout: str) -> str:
    """What the mouse does with the graph on a page."""
    where = "top of an arc" if layout == "line" else "middle of an edge"
    return f"The {where} is where the mouse shows the numbers, and where a click selects the pair."
