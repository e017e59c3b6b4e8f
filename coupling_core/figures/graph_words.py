"""Captions and alternative texts of the layer graph and of the locality curve."""

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.graph import communities_words, edges_words, last_block_words
from coupling_core.analysis.locality import Locality
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.units import counted
from coupling_core.base.wording import paragraph
from coupling_core.figures import style, words

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


def locality_alt(result: DepthResult, view: View, found: Locality) -> str:
    """How far apart blocks are coupled, in numbers."""
    text = (
        f"Mean score against the distance of two blocks of {words.subject(result)} "
        f"({style.score_terms(view)}), with a band of one standard deviation over the pairs."
    )
    known = ~np.isnan(found.mean)
    if not known.any():
        return text + " No pair has a score."
    apart, mean = found.distance[known], found.mean[known]
    pairs = found.pairs[known]
    text += f" It is {mean[0]:.3f} at |l - l'| = {apart[0]} ({counted(int(pairs[0]), 'pair')})"
    return text + (f" and {mean[-1]:.3f} at {apart[-1]} ({pairs[-1]})" * (len(apart) > 1)) + "."


def locality_caption(corrected: bool) -> str:
    """How the locality curve is read."""
    above = "0" if corrected else "the chance line"
    return (
        "Mean over all pairs of blocks at each distance, whatever the threshold; the band is one "
        f"standard deviation over them. A curve that falls towards {above} is locality: near "
        "blocks are coupled more than far ones. At the largest distances few pairs are left."
    )
