"""A layer graph's numbers in the forms that other programs read."""

from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.exports.forms import ENDINGS as FORMS
from coupling_core.analysis.exports.forms import written
from coupling_core.analysis.exports.naming import signed
from coupling_core.analysis.graph import directed, graph_edges, layer_graph, to_graphml, weights
from coupling_core.analysis.locality import locality
from coupling_core.analysis.scores import score_pairs
from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_THRESHOLD, View
from coupling_core.base.results import DepthResult

if TYPE_CHECKING:  # half a second to import, for tables only
    from pandas import DataFrame

ENDINGS = (".graphml", ".csv", ".npz")
AXES = {
    **dict.fromkeys(("weight", "coupling", "chance", "corrected"), ("block", "basis")),
    **dict.fromkeys(("blocks", "community"), ("block",)),
    **dict.fromkeys(("distance", "mean", "spread", "pairs"), ("distance_step",)),
}
"""Names of the axes of `graph_arrays`."""


def graph_file(
    ending: str, result: DepthResult, view: View, *, corrected: bool, threshold: float
) -> bytes:
    """The layer graph as the content of a file.

    `.graphml` has the directed graph, `.csv` and `.parquet` the edges (`EDGE_COLUMNS`), `.npz` and
    `.nc` the arrays of `graph_arrays`, every pair whatever the threshold.

    Raises:
        InputError: where K or a block is not in the result, or the threshold is out of range.
    """
    weighed: dict[str, Any] = {"corrected": corrected, "threshold": threshold}
    if ending == ".graphml":
        return to_graphml(directed(layer_graph(result, view, **weighed), result, view))
    content = written(
        ending,
        lambda: signed(edges_table(result, view, **weighed), result, view),
        lambda: graph_arrays(result, view, **weighed),
        AXES,
        score_pairs(result, view).attributes(),
    )
    if content is None:
        raise InputError(f"a graph is written as .graphml or {', '.join(FORMS)}, not {ending!r}")
    return content


def edges_table(
    result: DepthResult, view: View, *, corrected: bool = True, threshold: float = DEFAULT_THRESHOLD
) -> "DataFrame":
    """Twin of the layer graph: a row an edge, the heaviest first, with `EDGE_COLUMNS`."""
    return graph_edges(layer_graph(result, view, corrected=corrected, threshold=threshold))


def graph_arrays(
    result: DepthResult, view: View, *, corrected: bool, threshold: float
) -> dict[str, np.ndarray]:
    """What a layer graph holds, by name.

    Returns:
        `weight` (block block; NaN on the diagonal and where a pair has no score), `coupling`,
        `chance` and `corrected` (block block; row = the Jacobian's block), `blocks`, `community`
        (block), `threshold`, and of the locality curve `distance`, `mean`, `spread`, `pairs`.
    """
    graph = layer_graph(result, view, corrected=corrected, threshold=threshold)
    found = score_pairs(result, view)
    near = locality(result, view, corrected=corrected)
    return {
        "weight": weights(found, corrected=corrected),
        "coupling": found.coupling,
        "chance": np.array(found.chance),
        "corrected": found.corrected,
        "blocks": np.array(found.blocks),
        "community": np.array([graph.nodes[block]["community"] for block in found.blocks]),
        "threshold": np.array(graph.graph["threshold"]),
        **{name: getattr(near, name) for name in ("distance", "mean", "spread", "pairs")},
    }
