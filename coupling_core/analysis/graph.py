"""A model's blocks as a weighted graph: an edge is as strong as its two blocks are coupled.

    w_{ll'} = (c_{ll'} + c_{l'l}) / 2        l != l'

c_{ll'} is the score of the Jacobian of block l in the basis of block l', raw or chance-corrected.
The papers' Figures 1c-e draw such graphs with the raw score. A pair that lacks a score (a Jacobian
of a rank below K, a block that is not measured yet) is no edge, and is counted instead.
"""

import re
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from coupling_core.analysis.scores import Scores, score_pairs
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.errors import InputError, a_type
from coupling_core.base.keywords import known_keywords
from coupling_core.base.records import DEFAULT_THRESHOLD, Role, View, resolve_blocks, viewed
from coupling_core.base.results import DepthResult
from coupling_core.base.results.base import NORM_INCLUDED, require_result
from coupling_core.base.units import counted, ranges

if TYPE_CHECKING:  # a tenth and half a second to import
    import networkx as nx
    from pandas import DataFrame

EDGE_COLUMNS = ("block", "basis", "distance", "weight", "forward", "backward")
"""Of a table of edges: `forward` is the score of the Jacobian of `block` in the basis of `basis`,
`backward` the other way round, and `weight` their mean."""

SEED = 0
"""Of the Louvain method, which visits the nodes in a random order."""


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters of a prompt that no XML file may contain."""


def weights(found: Scores, *, corrected: bool = True) -> Float[np.ndarray, "block block"]:
    """Mean of the two directions of every pair; NaN on the diagonal and where one has no score."""
    scores = found.corrected if corrected else found.coupling
    both = (scores + scores.T) / 2
    return np.where(np.eye(len(both), dtype=bool), np.nan, both)


@known_keywords
def layer_graph(
    result: DepthResult,
    view: View | None = None,
    *,
    k: int | None = None,
    blocks: Blocks = None,
    definition: DefinitionName | None = None,
    role: Role | None = None,
    p: float | None = None,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
) -> "nx.Graph[int]":
    """The blocks as nodes, and an edge wherever two of them are coupled by at least the threshold.

    Args:
        result: may be partial.
        view: K, definition, role and blocks; None is the paper's score.
        k: the K, in place of a view; None is `default_k`.
        blocks: those wanted, in place of a view's: "9-16", a range, a list.
        definition: which score, in place of a view's; None is the paper's.
        role: "A" or "B", in place of a view's; None is "A".
        p: the order of the norm of the paper's score, in place of a view's; None is 1.
        corrected: weigh by the chance-corrected score, else by c.
        threshold: smallest weight of an edge, 0..1.

    Returns:
        a graph whose nodes are block numbers, with `block`, `relative_depth` (l / L), `community`
        (of networkx's Louvain method; from 1, in the order of their first blocks) and `strength`
        (sum of its edges' weights); whose edges have `weight`, `distance` (|l - l'|), the means of
        the two directions `coupling`, `chance` and, where it exists, `corrected`, and what `weight`
        is the mean of: `forward`, the score of the Jacobian of the shallower block in the basis of
        the deeper, and `backward`; and whose own attributes say what was measured, as those of
        scores do, and count the `pairs` and those `pairs_without_score`. `graph_edges` has the
        edges as a table.

    Raises:
        InputError: where K or a block is not in the result, one block of several is asked for, or
            the threshold is out of range.
    """
    require_result(result, DepthResult, "depth")
    chosen = blocks_of(blocks, result.n_blocks)
    view = viewed(view, result.default_k, k=k, blocks=chosen, definition=definition, role=role, p=p)
    if len(resolve_blocks(view.blocks, result.n_blocks)) < min(2, result.n_blocks):
        raise InputError("a graph is of pairs of blocks, and one block was asked for: name others")
    found = score_pairs(result, view)
    about = found.attributes() | {"token": result.token}
    about["token_text"] = result.tokens[result.token - 1]
    return scores_graph(found, result.n_blocks, about, corrected=corrected, threshold=threshold)


def scores_graph(
    found: Scores,
    n_blocks: int,
    about: Mapping[str, str | float],
    *,
    corrected: bool = True,
    threshold: float = DEFAULT_THRESHOLD,
) -> "nx.Graph[int]":
    """The same graph from scores, such as means over prompts.

    Args:
        found: the scores of its pairs.
        n_blocks: L of the model.
        about: what it is of, which becomes attributes of the graph.
        corrected: weigh by the chance-corrected score, else by c.
        threshold: smallest weight of an edge, 0..1.

    Raises:
        InputError: where the threshold is out of range.
    """
    import networkx as nx

    require_threshold(threshold)
    weight = weights(found, corrected=corrected)
    one_way = found.corrected if corrected else found.coupling
    graph = nx.Graph(**about, **_weighed(weight, corrected, threshold))
    graph.add_nodes_from(
        (block, {"block": block, "relative_depth": block / n_blocks})
        for block in sorted(found.blocks)
    )
    pairs = np.argwhere(np.triu(weight >= threshold))
    means = {name: (both + both.T) / 2 for name, both in _scores(found).items()}
    for (i, j), scores in zip(pairs.tolist(), _at(means, pairs), strict=True):
        (block, i), (basis, j) = sorted(((found.blocks[i], i), (found.blocks[j], j)))
        ways = {"forward": float(one_way[i, j]), "backward": float(one_way[j, i])}
        of_pair = {"weight": float(weight[i, j]), "distance": abs(basis - block)}
        graph.add_edge(block, basis, **of_pair, **ways, **scores)
    for number, members in enumerate(_louvain(graph), 1):
        nx.set_node_attributes(graph, dict.fromkeys(members, number), "community")
    strength = {block: float(total) for block, total in graph.degree(weight="weight")}
    nx.set_node_attributes(graph, strength, "strength")
    return graph


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that no score is measured against."""
    if not isinstance(threshold, Real):
        raise InputError(f"the threshold must be a number, and {threshold!r} came")
    if not 0 <= threshold <= 1:
        raise InputError(
            f"the threshold must lie in 0..1, and {threshold!r} came: 0 is chance (or no "
            "coupling, of the raw score), and 1 is full coupling"
        )


@known_keywords
def communities(graph: "nx.Graph[int]") -> list[tuple[int, ...]]:
    """Groups of blocks that are coupled more among themselves than at random (Louvain).

    A block without an edge is a group of its own.

    Args:
        graph: as `layer_graph` made it, or changed since: its edges as they are count.

    Returns:
        the groups in the order of their first blocks; the same every time.

    Raises:
        InputError: where another thing came.
    """
    _require_graph(graph)
    return _louvain(graph)


def groups(graph: "nx.Graph") -> list[tuple[int, ...]]:
    """Those of more than one block."""
    return [members for members in communities(graph) if len(members) > 1]


def strongest_partners(found: Scores, *, corrected: bool = True) -> dict[int, int]:
    """For each block the one that it is coupled with most; its neighbour where no pair has a score.

    A single block has itself.
    """
    weight = weights(found, corrected=corrected)
    n = len(weight)
    partners = {}
    for i, block in enumerate(found.blocks):
        known = not np.isnan(weight[i]).all()
        best = int(np.nanargmax(weight[i])) if known else (i + 1 if i + 1 < n else max(0, i - 1))
        partners[block] = found.blocks[best]
    return partners


@known_keywords
def modularity(graph: "nx.Graph[int]") -> float:
    """How much heavier the edges within the communities are than at random, at most 1.

    A graph of nothing but noise has communities too, and a modularity above 0.

    Args:
        graph: as `layer_graph` made it.

    Returns:
        a number without a unit; NaN without edges.

    Raises:
        InputError: where another thing came.
    """
    import networkx as nx

    _require_graph(graph)
    positive = _positive(graph)
    if not positive:
        return float("nan")
    return float(nx.community.modularity(positive, communities(graph), weight="weight"))


def communities_words(graph: "nx.Graph") -> str:
    """The communities of a layer graph as a sentence."""
    found = groups(graph)
    if not found:
        return "No two blocks form a community."
    alone = graph.number_of_nodes() - sum(map(len, found))
    named = "; ".join(ranges(members) for members in found)
    noun = "community" if len(found) == 1 else "communities"
    text = f"{len(found)} {noun} of blocks ({named})"
    text += f", {alone} {'block' if alone == 1 else 'blocks'} alone" * (alone > 0)
    return f"{text}; modularity {modularity(graph):.2f}.{_all_by_chance(graph)}"


def last_block_words(graph: "nx.Graph") -> str:
    """How many edges are of the last block, where that is of another kind; else ""."""
    last = [block for block, depth in graph.nodes(data="relative_depth") if depth == 1]
    with_norm = graph.graph.get("final_norm") == NORM_INCLUDED
    if not last or not with_norm or not graph.degree(last[0]):
        return ""
    n = graph.degree(last[0])
    return (
        f"{n} of {counted(graph.number_of_edges(), 'edge')} {'is' if n == 1 else 'are'} of block "
        f"{last[0]}, which has the model's final norm in it and is of another kind."
    )


def _all_by_chance(graph: "nx.Graph") -> str:
    """That the threshold of a graph of raw scores leaves nothing out, where it does not."""
    floors = [edge["chance"] for *_, edge in graph.edges(data=True)]
    if "score c" not in graph.graph["weight_meaning"] or len(floors) < graph.graph["pairs"]:
        return ""
    if min(floors) < graph.graph["threshold"]:
        return ""
    return (
        f" Every pair is an edge, for chance alone gives {np.mean(floors):.2f}: a higher threshold "
        "tells more."
    )


def directed(graph: "nx.Graph", result: DepthResult, view: View) -> "nx.DiGraph":
    """The same graph with each edge in both directions, from the Jacobian's block to the basis'.

    Args:
        graph: as `layer_graph` made it.
        result: what it was made from.
        view: how.

    Returns:
        a graph whose edges have that direction's own `coupling`, `chance` and, where it exists,
        `corrected` beside the `weight` and the `distance` that the two share.
    """
    found = score_pairs(result, view)
    at = {block: i for i, block in enumerate(found.blocks)}
    both = graph.to_directed()
    edges = [(at[block], at[basis]) for block, basis in both.edges]
    cells = np.array(edges, np.int64).reshape(-1, 2)
    for edge, scores in zip(both.edges, _at(_scores(found), cells), strict=True):
        of_both = {name: both.edges[edge][name] for name in ("weight", "distance")}
        both.edges[edge].clear()
        both.edges[edge].update(of_both | scores)
    return both


def edge_rows(graph: "nx.Graph") -> list[tuple[int, int, int, float, float, float]]:
    """The edges of a layer graph in the order of `EDGE_COLUMNS`, the heaviest first."""
    rows = [
        (block, basis, *(edge[name] for name in EDGE_COLUMNS[2:]))
        for block, basis, edge in graph.edges(data=True)
    ]
    return sorted(rows, key=lambda row: -row[3])


@known_keywords
def graph_edges(graph: "nx.Graph[int]") -> "DataFrame":
    """The edges of a layer graph as a table, the heaviest first.

    Args:
        graph: as `layer_graph` made it.

    Returns:
        a row an edge, with the columns `block` (the shallower), `basis` (the deeper), `distance`
        (|l - l'|), `weight`, and the two scores that it is the mean of: `forward`, of the Jacobian
        of `block` in the basis of `basis`, and `backward`, the other way round. Scores have no
        unit. Its `attrs` are the graph's own.

    Raises:
        InputError: where another thing came, or a graph that is directed.
    """
    from pandas import DataFrame

    _require_graph(graph)
    if graph.is_directed():
        raise InputError(
            "a directed graph came, as a .graphml file of `coupling graph` has it: there each edge "
            "stands once for each direction, with that one's own scores in its `corrected` and "
            "`coupling`; layer_graph(result) is the graph that is meant here"
        )
    table = DataFrame(edge_rows(graph), columns=list(EDGE_COLUMNS))
    table.attrs.update(graph.graph)
    return table


def _require_graph(graph: object) -> None:
    """Refuse what `layer_graph` did not make."""
    if "pairs_without_score" not in getattr(graph, "graph", {}):
        raise InputError(
            f"{a_type(graph)} came where a layer graph is needed, as layer_graph(result) makes it"
        )


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


def _louvain(graph: "nx.Graph") -> list[tuple[int, ...]]:
    """Groups in the order of their first blocks, the same every time."""
    import networkx as nx

    groups = [{node} for node in graph]
    if positive := _positive(graph):
        groups = nx.community.louvain_communities(positive, weight="weight", seed=SEED)
    return sorted(tuple(sorted(group)) for group in groups)


def _positive(graph: "nx.Graph") -> "nx.Graph | None":
    """The graph with its positive weights only, which communities need; None without any."""
    import networkx as nx

    positive = nx.Graph()
    positive.add_nodes_from(graph)
    positive.add_weighted_edges_from(e for e in graph.edges(data="weight") if e[2] > 0)
    return positive if positive.number_of_edges() else None


def _scores(found: Scores) -> dict[str, Float[np.ndarray, "block block"]]:
    return {"coupling": found.coupling, "chance": found.chance, "corrected": found.corrected}


def _at(
    scores: dict[str, Float[np.ndarray, "block block"]], cells: Int[np.ndarray, "cell 2"]
) -> list[dict[str, float]]:
    """The scores of each cell; one that does not exist is left out."""
    rows, columns = cells.T
    picked = zip(*(values[rows, columns].tolist() for values in scores.values()), strict=True)
    return [
        {name: one for name, one in zip(scores, ones, strict=True) if one == one} for ones in picked
    ]


def _weighed(
    weight: Float[np.ndarray, "block block"], corrected: bool, threshold: float
) -> dict[str, Any]:
    """What its numbers mean, and how many pairs it has, in such types."""
    pairs = weight[np.triu_indices(len(weight), 1)]
    score = "chance-corrected score (0 by chance" if corrected else "score c (0 uncoupled"
    return {
        "weight_meaning": f"{score}, 1 coupled; no unit), mean of the two directions",
        "distance_meaning": "|l - l'| in blocks",
        "strength_meaning": "sum of the weights of a block's edges; no unit",
        "threshold": float(threshold),
        "pairs": pairs.size,
        "pairs_without_score": int(np.isnan(pairs).sum()),
    }
