"""A layer graph's numbers in the forms that other programs read."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.exports.forms import ENDINGS as FORMS
from coupling_core.analysis.exports.forms import Variables, written
from coupling_core.analysis.exports.naming import signed
from coupling_core.analysis.graph import directed, graph_edges, layer_graph, to_graphml, weights
from coupling_core.analysis.locality import locality
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_THRESHOLD, View
from coupling_core.base.results import DepthResult, Scores

if TYPE_CHECKING:  # half a second each to import
    import networkx as nx
    from pandas import DataFrame

ENDINGS = (".graphml", ".csv", ".npz")


def graph_file(
    ending: str, result: DepthResult, view: View, *, corrected: bool, threshold: float
) -> bytes:
    """The layer graph as a file: directed (.graphml), its edges (.csv, .parquet), or arrays."""
    found = score_pairs(result, view)
    graph = layer_graph(found, corrected=corrected, threshold=threshold)
    if ending == ".graphml":
        return to_graphml(directed(graph, found))
    content = written(
        ending,
        lambda: signed(graph_edges(graph), result, view),
        lambda: _variables(graph, found, corrected=corrected),
        found.attributes(),
    )
    if content is None:
        raise InputError(f"a graph is written as .graphml or {', '.join(FORMS)}, not {ending!r}")
    return content


def edges_table(
    result: DepthResult, view: View, *, corrected: bool = True, threshold: float = DEFAULT_THRESHOLD
) -> "DataFrame":
    """Twin of the layer graph: a row an edge, the heaviest first, with `EDGE_COLUMNS`."""
    found = score_pairs(result, view)
    return graph_edges(layer_graph(found, corrected=corrected, threshold=threshold))


def _variables(graph: "nx.Graph", found: Scores, *, corrected: bool) -> Variables:
    """Every pair whatever the threshold (a row is the Jacobian's block), and the locality curve."""
    near = locality(found, corrected=corrected)
    maps = {"weight": weights(found, corrected=corrected)} | found.arrays
    communities = np.array([graph.nodes[block]["community"] for block in found.blocks])
    curve = {name: getattr(near, name) for name in ("distance", "mean", "spread", "pairs")}
    return {
        **{name: (("block", "basis"), values) for name, values in maps.items()},
        "blocks": (("block",), np.array(found.blocks)),
        "community": (("block",), communities),
        "threshold": ((), np.array(graph.graph["threshold"])),
        **{name: (("distance_step",), values) for name, values in curve.items()},
    }
