"""A model's blocks as a weighted graph: an edge is as strong as its two blocks are coupled.

    w_{ll'} = (c_{ll'} + c_{l'l}) / 2        l != l'

c_{ll'} is the score of the Jacobian of block l in the basis of block l', raw or chance-corrected.
The papers' Figures 1c-e draw such graphs with the raw score. A pair that lacks a score (a Jacobian
of a rank below K, a block that is not measured yet) is no edge, and is counted instead.

The graph of networkx is the one record: figure, table, files and printout read its attributes.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError
from coupling_core.base.notebook import table_of
from coupling_core.base.records import DEFAULT_THRESHOLD
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.results.base import NORM_INCLUDED
from coupling_core.base.units import counted, ranges

if TYPE_CHECKING:  # a tenth and half a second to import
    import networkx as nx
    from pandas import DataFrame

EDGE_COLUMNS = ("block", "basis", "distance", "weight", "forward", "backward")
"""Of a table of edges (see `graph_edges`)."""
SEED = 0
"""Of the Louvain method, which visits the nodes in a random order."""
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters of a prompt that no XML file may contain."""


# ---- the graph


def layer_graph(
    found: Scores, *, corrected: bool = True, threshold: float = DEFAULT_THRESHOLD
) -> "nx.Graph[int]":
    """The blocks as nodes, and an edge wherever two of them are coupled by at least the threshold.

    Args:
        found: the scores of a result, such as `result.scores(50, "9-16")`.
        corrected: weigh by the chance-corrected score, else by c.
        threshold: smallest weight of an edge, 0..1.

    Returns:
        a graph whose nodes are block numbers, with `block`, `relative_depth` (l / L), `community`
        (of networkx's Louvain method; from 1, in the order of their first blocks) and `strength`
        (sum of its edges' weights); whose edges have what `graph_edges` has, and the means of the
        two directions `coupling`, `chance` and, where it exists, `corrected`; and whose own
        attributes say what was measured, and count the `pairs` and those `pairs_without_score`.

    Raises:
        InputError: where they are of one block of several, or the threshold is out of range.
    """
    result = cast(DepthResult, found.result)
    if len(found.blocks) < min(2, result.n_blocks):
        raise InputError("a graph is of pairs of blocks, and one block was asked for: name others")
    about = found.attributes() | {
        "token": result.token,
        "token_text": result.tokens[result.token - 1],
    }
    return scores_graph(found, result.n_blocks, about, corrected=corrected, threshold=threshold)


def scores_graph(
    found: Scores,
    n_blocks: int,
    about: Mapping[str, str | float],
    *,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
) -> "nx.Graph[int]":
    """The same graph of scores, such as means over prompts; `about` becomes its attributes."""
    import networkx as nx

    require_threshold(threshold)
    weight = weights(found, corrected=corrected)
    pairs = weight[np.triu_indices(len(weight), 1)]
    score = "chance-corrected score (0 by chance" if corrected else "score c (0 uncoupled"
    graph = nx.Graph(
        **about,
        weight_meaning=f"{score}, 1 coupled; no unit), mean of the two directions",
        distance_meaning="|l - l'| in blocks",
        strength_meaning="sum of the weights of a block's edges; no unit",
        threshold=float(threshold),
        pairs=pairs.size,
        pairs_without_score=int(np.isnan(pairs).sum()),
    )
    for block in sorted(found.blocks):
        graph.add_node(block, block=block, relative_depth=block / n_blocks)
    one_way = found.corrected if corrected else found.coupling
    for cell in np.argwhere(np.triu(weight >= threshold)).tolist():
        i, j = sorted(cell, key=found.blocks.__getitem__)
        graph.add_edge(
            found.blocks[i],
            found.blocks[j],
            weight=float(weight[i, j]),
            distance=found.blocks[j] - found.blocks[i],
            forward=float(one_way[i, j]),
            backward=float(one_way[j, i]),
            **_known({name: (one[i, j] + one[j, i]) / 2 for name, one in found.arrays.items()}),
        )
    for number, members in enumerate(communities(graph), 1):
        nx.set_node_attributes(graph, dict.fromkeys(members, number), "community")
    strength = {block: float(total) for block, total in graph.degree(weight="weight")}
    nx.set_node_attributes(graph, strength, "strength")
    return graph


def require_threshold(threshold: float) -> None:
    """Refuse a threshold out of the range of scores."""
    if not 0 <= threshold <= 1:
        raise InputError(
            f"expected a threshold in 0..1, got {threshold!r}: 0 is chance (of the raw score, no "
            "coupling), 1 is full coupling"
        )


def weights(found: Scores, *, corrected: bool = True) -> Float[np.ndarray, "block block"]:
    """Mean of the two directions of every pair; NaN on the diagonal and where one has no score."""
    scores = found.corrected if corrected else found.coupling
    both = (scores + scores.T) / 2
    return np.where(np.eye(len(both), dtype=bool), np.nan, both)


def strongest_partners(found: Scores, *, corrected: bool = True) -> dict[int, int]:
    """The block that each is coupled with most; where it has no score its neighbour, or itself."""
    blocks, last = found.blocks, len(found.blocks) - 1
    partners = {}
    for i, weight in enumerate(weights(found, corrected=corrected)):
        neighbour = i + 1 if i < last else max(0, i - 1)
        best = neighbour if np.isnan(weight).all() else int(np.nanargmax(weight))
        partners[blocks[i]] = blocks[best]
    return partners


def _known(numbers: Mapping[str, float]) -> dict[str, float]:
    """Without those that are NaN."""
    return {name: float(one) for name, one in numbers.items() if not np.isnan(one)}


# ---- communities


def communities(graph: "nx.Graph[int]") -> list[tuple[int, ...]]:
    """Groups of blocks that are coupled more among themselves than at random (Louvain).

    They come in the order of their first blocks, the same every time. A block without an edge is a
    group of its own.

    Args:
        graph: as `layer_graph` made it, or changed since: its edges as they are count.
    """
    import networkx as nx

    found = [{node} for node in graph]
    if positive := _positive(graph):
        found = nx.community.louvain_communities(positive, weight="weight", seed=SEED)
    return sorted(tuple(sorted(group)) for group in found)


def groups(graph: "nx.Graph") -> list[tuple[int, ...]]:
    """The communities of more than one block."""
    return [members for members in communities(graph) if len(members) > 1]


def modularity(graph: "nx.Graph[int]") -> float:
    """How much heavier the edges within the communities are than at random, at most 1.

    It has no unit, and is NaN without edges. A graph of nothing but noise has communities too, and
    a modularity above 0.

    Args:
        graph: as `layer_graph` made it.
    """
    import networkx as nx

    if not (positive := _positive(graph)):
        return float("nan")
    return float(nx.community.modularity(positive, communities(graph), weight="weight"))


def _positive(graph: "nx.Graph") -> "nx.Graph | None":
    """The graph with its positive weights only, which communities need; None without any."""
    import networkx as nx

    positive = nx.Graph()
    positive.add_nodes_from(graph)
    positive.add_weighted_edges_from(e for e in graph.edges(data="weight") if e[2] > 0)
    return positive if positive.number_of_edges() else None


# ---- the graph in words, as a table, as GraphML


def edges_words(graph: "nx.Graph") -> str:
    """How many pairs are edges, and how many have no score."""
    edges, missing = graph.number_of_edges(), graph.graph["pairs_without_score"]
    are = "is an edge" if edges == 1 else "are edges"
    text = (
        f"{edges} of {counted(graph.graph['pairs'], 'pair')} {are}, at "
        f"{graph.graph['threshold']:g} or more"
    )
    return text + f"; {counted(missing, 'pair')} without a score" * bool(missing)


def communities_words(graph: "nx.Graph") -> str:
    """The communities of a layer graph as a sentence."""
    found = groups(graph)
    if not found:
        return "No two blocks form a community."
    alone = graph.number_of_nodes() - sum(map(len, found))
    named = "; ".join(ranges(members) for members in found)
    noun = "community" if len(found) == 1 else "communities"
    rest = f", {counted(alone, 'block')} alone" * (alone > 0)
    text = f"{len(found)} {noun} of blocks ({named}){rest}; modularity {modularity(graph):.2f}."
    return text + _all_by_chance(graph)


def last_block_words(graph: "nx.Graph") -> str:
    """How many edges the last block has, where it includes the final norm; else ""."""
    last = [block for block, depth in graph.nodes(data="relative_depth") if depth == 1]
    if not last or graph.graph.get("final_norm") != NORM_INCLUDED or not graph.degree(last[0]):
        return ""
    n = graph.degree(last[0])
    return (
        f"{n} of {counted(graph.number_of_edges(), 'edge')} {'is' if n == 1 else 'are'} of block "
        f"{last[0]}, which includes the final norm and is not comparable with the others."
    )


def _all_by_chance(graph: "nx.Graph") -> str:
    """That the threshold of a graph of raw scores leaves nothing out, where it does not."""
    floors, about = [floor for *_, floor in graph.edges(data="chance")], graph.graph
    is_whole = "score c" in about["weight_meaning"] and len(floors) == about["pairs"]
    if not is_whole or min(floors) < about["threshold"]:
        return ""
    return f" Every pair is an edge: chance alone gives {np.mean(floors):.2f}. Raise the threshold."


def edge_rows(graph: "nx.Graph") -> list[dict[str, int | float]]:
    """The edges of a layer graph with the numbers of `EDGE_COLUMNS`, the heaviest first."""
    rows = [
        {"block": block, "basis": basis} | {name: edge[name] for name in EDGE_COLUMNS[2:]}
        for block, basis, edge in graph.edges(data=True)
    ]
    return sorted(rows, key=lambda row: -row["weight"])


def graph_record(graph: "nx.Graph") -> dict[str, Any]:
    """What a layer graph has, ready for JSON."""
    counts = {name: graph.graph[name] for name in ("threshold", "pairs", "pairs_without_score")}
    return counts | {
        "edges": edge_rows(graph),
        "communities": communities(graph),
        "modularity": modularity(graph),
    }


def graph_edges(graph: "nx.Graph[int]") -> "DataFrame":
    """The edges of a layer graph as a table, the heaviest first; its `attrs` are the graph's own.

    It has a row an edge: `block` (the shallower), `basis` (the deeper), `distance` (|l - l'|),
    `weight`, and the two scores that it is the mean of: `forward`, of the Jacobian of `block` in
    the basis of `basis`, and `backward`, the other way round. Scores have no unit.

    Args:
        graph: as `layer_graph` made it.
    """
    return table_of(edge_rows(graph), graph.graph, EDGE_COLUMNS)


def directed(graph: "nx.Graph", found: Scores) -> "nx.DiGraph":
    """The same with each edge in both directions, from the Jacobian's block, with its score."""
    both = graph.to_directed()
    for block, basis, edge in both.edges(data=True):
        cell = found.blocks.index(block), found.blocks.index(basis)
        scores = _known({name: one[cell] for name, one in found.arrays.items()})
        weighed = {name: edge[name] for name in ("weight", "distance")}
        edge.clear()
        edge.update(weighed | scores)
    return both


def to_graphml(graph: "nx.Graph") -> bytes:
    """A graph as the content of a .graphml file; its keys are the names of the attributes."""
    import networkx as nx

    named = graph.copy()
    named.graph |= {
        name: _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", value)
        for name, value in graph.graph.items()
        if isinstance(value, str)
    }
    return "\n".join(nx.generate_graphml(named, named_key_ids=True)).encode()
