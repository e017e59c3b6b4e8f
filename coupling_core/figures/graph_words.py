"""Caption and alternative text of the layer graph."""

from operator import itemgetter
from typing import TYPE_CHECKING

from coupling_core.analysis.graph import communities_words, edges_words, last_block_words
from coupling_core.base.records import View
from coupling_core.base.units import counted
from coupling_core.base.wording import paragraph
from coupling_core.figures import style

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx


_PLACES = {
    ("line", True): "Blocks lie in order, and an arc is as high as its blocks are apart.",
    ("line", False): "Blocks lie in order.",
    ("circle", True): "Blocks run clockwise from the top.",
    ("circle", False): "Blocks run clockwise from the top.",
    ("spring", True): "Blocks that are coupled pull each other close.",
    ("spring", False): "No two blocks have an edge, which would pull them close.",
}
"""Where the nodes lie, by layout and whether there is an edge."""


def graph_alt(subject: str, view: View, graph: "nx.Graph") -> str:
    """What the layer graph shows, with its main numbers."""
    strongest = max(graph.edges(data="weight"), key=itemgetter(2), default=None)
    named = "The strongest edge joins blocks {} and {} with {:.3f}."
    return paragraph(
        f"Graph of {counted(graph.number_of_nodes(), 'block')} of {subject}: {edges_words(graph)}.",
        f"Weights are the {graph.graph['weight_meaning']} ({style.score_terms(view)}).",
        named.format(*strongest) if strongest else "",
        communities_words(graph),
        last_block_words(graph),
    )


def graph_summary(graph: "nx.Graph") -> str:
    """How many pairs are edges, and the communities."""
    return paragraph(f"{edges_words(graph)}.", communities_words(graph), last_block_words(graph))


def graph_caption(
    layout: str, color: str, corrected: bool, auto_range: bool, *, any_edge: bool
) -> str:
    """How the layer graph is read."""
    scale = "over what is drawn (auto range)" if auto_range else "on a fixed scale"
    return paragraph(
        _PLACES[layout, any_edge],
        (color == "depth", "The first block is blue, and the last one yellow."),
        (
            any_edge,
            f"Width and opacity show the {style.score_name(corrected).lower()}, the mean of both "
            f"directions, {scale}.",
        ),
    )


def graph_on_page(layout: str) -> str:
    """What the mouse does with the graph on a page."""
    where = "top of an arc" if layout == "line" else "middle of an edge"
    return f"The {where} is where the mouse shows the numbers, and where a click selects the pair."
