"""Caption and alternative text of the layer graph."""

from operator import itemgetter
from typing import TYPE_CHECKING

from coupling_core.analysis.graph import communities_words, last_block_words
from coupling_core.base.records import View
from coupling_core.base.units import counted
from coupling_core.figures import style

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx


def graph_alt(whose: str, view: View, drawn: "nx.Graph") -> str:
    """What the layer graph shows, with its main numbers."""
    facts = drawn.graph
    text = (
        f"Graph of {counted(drawn.number_of_nodes(), 'block')} of {whose}: "
        f"{drawn.number_of_edges()} of {counted(facts['pairs'], 'pair')} reach the threshold "
        f"{facts['threshold']:g} of the {facts['weight_meaning']} ({style.score_terms(view)})."
    )
    if facts["pairs_without_score"]:
        text += f" Without a score: {counted(facts['pairs_without_score'], 'pair')}."
    if drawn.number_of_edges():
        block, basis, weight = max(drawn.edges(data="weight"), key=itemgetter(2))
        text += f" The strongest joins blocks {block} and {basis} with {weight:.3f}."
    return f"{text} {_groups(drawn)}"


def graph_summary(drawn: "nx.Graph") -> str:
    """How many pairs are edges, and the communities."""
    facts = drawn.graph
    edges, pairs, missing = drawn.number_of_edges(), facts["pairs"], facts["pairs_without_score"]
    are = "is an edge" if edges == 1 else "are edges"
    text = f"{edges} of {counted(pairs, 'pair')} {are}, at {facts['threshold']:g} or more"
    if missing:
        text += f"; {counted(missing, 'pair')} without a score"
    return f"{text}. {_groups(drawn)}"


def _groups(drawn: "nx.Graph") -> str:
    """The communities, and how far the last block decides on them."""
    return " ".join(filter(None, [communities_words(drawn), last_block_words(drawn)]))


def graph_caption(
    layout: str, color: str, corrected: bool, auto_range: bool, *, any_edge: bool
) -> str:
    """How the layer graph is read.

    Args:
        layout: where its nodes lie.
        color: what colours them.
        corrected: whether its weights are chance-corrected.
        auto_range: whether width and opacity are stretched over what is drawn.
        any_edge: whether it has an edge.
    """
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
