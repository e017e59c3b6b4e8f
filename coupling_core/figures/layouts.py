"""Where the nodes of a layer graph lie, how its edges run, and where an edge is taken hold of."""

import networkx as nx
import numpy as np
from jaxtyping import Float

from coupling_core.records import Layout

SEED = 0
"""Of the springs, which start from a random place."""
_FEW_EDGES = 1000
_ARC_POINTS = {True: 33, False: 17}
"""Of an arc, where there are few edges and where there are many."""
_TURNS = 200
_LOOSE = 0.1
"""A spring between any two blocks: one without an edge would else be driven off the picture."""
_OFF_CENTRE = 0.42
"""The middles of all diameters are one point: on the circle an edge is held a little off it."""


def positions(graph: nx.Graph, layout: Layout) -> Float[np.ndarray, "node 2"]:
    """Place the nodes, in the order of the graph; the same every time.

    Args:
        graph: of block numbers, with the edges' `weight`.
        layout: `line` lays them out by number; `circle` clockwise from the top, with a gap between
            the last and the first; `spring` has edges pull by their weight (Fruchterman-Reingold).
    """
    blocks = np.array(graph.nodes)
    if layout == "line":
        return np.stack([blocks, np.zeros(len(blocks))], 1)
    if layout == "circle":
        angle = 2 * np.pi * np.arange(1, len(blocks) + 1) / (len(blocks) + 1)
        return np.stack([np.sin(angle), np.cos(angle)], 1)
    return _springs(graph)


def paths(
    start: Float[np.ndarray, "edge 2"], end: Float[np.ndarray, "edge 2"], layout: Layout
) -> Float[np.ndarray, "edge point 2"]:
    """The points of each edge: an arc as high as it is wide over a line, else a straight line."""
    if layout != "line":
        return np.stack([start, end], 1)
    angle = np.linspace(0, np.pi, _ARC_POINTS[len(start) <= _FEW_EDGES])
    middle, radius = (start + end)[:, :1] / 2, (end - start)[:, :1] / 2
    return np.stack([middle - radius * np.cos(angle), 2 * np.abs(radius) * np.sin(angle)], -1)


def handles(
    start: Float[np.ndarray, "edge 2"], end: Float[np.ndarray, "edge 2"], layout: Layout
) -> Float[np.ndarray, "edge 2"]:
    """A point of each edge for the mouse, no two edges' alike."""
    if layout == "line":
        middle, radius = (start + end) / 2, (end - start) / 2
        return np.stack([middle[:, 0], 2 * np.abs(radius[:, 0])], 1)
    part = _OFF_CENTRE if layout == "circle" else 0.5
    return start + part * (end - start)


def _springs(graph: nx.Graph) -> Float[np.ndarray, "node 2"]:
    """Springs in units of the heaviest edge: weights of a few percent would hold nothing."""
    heaviest = max((weight for *_, weight in graph.edges(data="weight")), default=0) or 1.0
    pulled = nx.complete_graph(graph.nodes)
    nx.set_edge_attributes(pulled, _LOOSE, "weight")
    pulled.add_weighted_edges_from(
        (block, basis, weight / heaviest) for block, basis, weight in graph.edges(data="weight")
    )
    placed = nx.spring_layout(pulled, seed=SEED, iterations=_TURNS)
    return np.array([placed[block] for block in graph], np.float64).reshape(-1, 2)
