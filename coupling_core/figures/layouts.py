"""Where the nodes of a layer graph lie, how its edges run, and where an edge is taken hold of."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from coupling_core.base.records import Layout

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx

SEED = 0
"""Of the springs, which start from a random place."""
_QUARTER = 0.5523
"""How far the control points of a cubic curve lie out so that it is a quarter of a circle."""
_TURNS = 200
_LOOSE = 0.1
"""A spring between any two blocks: one without an edge would else be driven off the picture."""
_OFF_CENTRE = 0.42
"""The middles of all diameters are one point: on the circle an edge is held a little off it."""


def positions(graph: "nx.Graph", layout: Layout) -> Float[np.ndarray, "node 2"]:
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


def path(
    start: Float[np.ndarray, "edge 2"], end: Float[np.ndarray, "edge 2"], layout: Layout
) -> str:
    """All edges as one path of SVG: arcs as high as they are wide over a line, else straight."""
    if layout != "line":
        return " ".join(
            f"M{x0:.4g},{y0:.4g}L{x1:.4g},{y1:.4g}"
            for (x0, y0), (x1, y1) in zip(start.tolist(), end.tolist(), strict=True)
        )
    return " ".join(
        _arc(a, b) for a, b in zip(start[:, 0].tolist(), end[:, 0].tolist(), strict=True)
    )


def _arc(first: float, last: float) -> str:
    """Half an ellipse over a line, in two cubic curves."""
    middle, radius = (first + last) / 2, (last - first) / 2
    height, aside = 2 * abs(radius), _QUARTER * radius
    return (
        f"M{first:g},0"
        f"C{first:g},{_QUARTER * height:.4g} {middle - aside:.4g},{height:g} {middle:g},{height:g}"
        f"C{middle + aside:.4g},{height:g} {last:g},{_QUARTER * height:.4g} {last:g},0"
    )


def handles(
    start: Float[np.ndarray, "edge 2"], end: Float[np.ndarray, "edge 2"], layout: Layout
) -> Float[np.ndarray, "edge 2"]:
    """A point of each edge for the mouse, no two edges' alike."""
    if layout == "line":
        middle, radius = (start + end) / 2, (end - start) / 2
        return np.stack([middle[:, 0], 2 * np.abs(radius[:, 0])], 1)
    part = _OFF_CENTRE if layout == "circle" else 0.5
    return start + part * (end - start)


def _springs(graph: "nx.Graph") -> Float[np.ndarray, "node 2"]:
    """Springs in units of the heaviest edge: weights of a few percent would hold nothing."""
    import networkx as nx

    heaviest = max((weight for *_, weight in graph.edges(data="weight")), default=0) or 1.0
    pulled = nx.complete_graph(graph.nodes)
    nx.set_edge_attributes(pulled, _LOOSE, "weight")
    pulled.add_weighted_edges_from(
        (block, basis, weight / heaviest) for block, basis, weight in graph.edges(data="weight")
    )
    placed = nx.spring_layout(pulled, seed=SEED, iterations=_TURNS)
    return np.array([placed[block] for block in graph], np.float64).reshape(-1, 2)
