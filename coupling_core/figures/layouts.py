"""Where the nodes of a layer graph lie, how its edges run, and where an edge is taken hold of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from coupling_core.base.records import Layout

if TYPE_CHECKING:  # a tenth of a second to import, for graphs only
    import networkx as nx

SEED = 0  # of the springs, which start from a random place
_QUARTER = 0.5523
"""How far the control points of a cubic curve lie out so that it is a quarter of a circle."""
_TURNS = 200
_LOOSE = 0.1
"""A spring between any two blocks: one without an edge would else be driven off the picture."""
_OFF_CENTRE = 0.42
"""The middles of all diameters are one point: on the circle an edge is held a little off it."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Places of the blocks, the same every time.

    `line` lays them out by number; `circle` clockwise from the top, with a gap between the last and
    the first; `spring` has edges pull by their weight (Fruchterman-Reingold).
    """

    layout: Layout
    at: dict[int, Float[np.ndarray, " 2"]]

    @classmethod
    def of(cls, graph: "nx.Graph", layout: Layout) -> "Placed":
        """Place the nodes of a graph of block numbers, with the edges' `weight`."""
        blocks = np.array(graph.nodes)
        if layout == "line":
            at = np.stack([blocks, np.zeros(len(blocks))], 1)
        elif layout == "circle":
            angle = 2 * np.pi * np.arange(1, len(blocks) + 1) / (len(blocks) + 1)
            at = np.stack([np.sin(angle), np.cos(angle)], 1)
        else:
            at = _springs(graph)
        return cls(layout, dict(zip(graph.nodes, at, strict=True)))

    @property
    def nodes(self) -> Float[np.ndarray, "node 2"]:
        """All places."""
        return np.array([*self.at.values()])

    def path(self, edges: Sequence[tuple[int, int]]) -> str:
        """Edges as one path of SVG: arcs as high as they are wide over a line, else straight."""
        if self.layout == "line":
            return " ".join(_arc(*edge) for edge in edges)
        straight = "M{:.4g},{:.4g}L{:.4g},{:.4g}"
        return " ".join(straight.format(*self.at[one], *self.at[other]) for one, other in edges)

    def handles(self, edges: Sequence[tuple[int, int]]) -> Float[np.ndarray, "edge 2"]:
        """A point of each edge for the mouse, no two edges' alike."""
        places = np.array([[self.at[block] for block in edge] for edge in edges])
        start, end = places.reshape(-1, 2, 2).swapaxes(0, 1)
        if self.layout == "line":
            return np.stack([(start + end)[:, 0] / 2, np.abs(end - start)[:, 0]], 1)
        part = _OFF_CENTRE if self.layout == "circle" else 0.5
        return start + part * (end - start)


def _arc(first: int, last: int) -> str:
    """Half an ellipse over a line, in two cubic curves."""
    middle, radius = (first + last) / 2, (last - first) / 2
    height, aside = 2 * abs(radius), _QUARTER * radius
    return (
        f"M{first:g},0"
        f"C{first:g},{_QUARTER * height:.4g} {middle - aside:.4g},{height:g} {middle:g},{height:g}"
        f"C{middle + aside:.4g},{height:g} {last:g},{_QUARTER * height:.4g} {last:g},0"
    )


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
