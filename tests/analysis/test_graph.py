"""The layer graph: planted weights come back as edges, communities and a locality curve."""

import io
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from cases import VIEW, planted, random_result

from coupling_core import View, layer_graph, score_pairs
from coupling_core.analysis import graph as graphs
from coupling_core.analysis.exports.graph import edges_table
from coupling_core.analysis.locality import locality

RESULT = planted()
SCORES = score_pairs(RESULT, VIEW)


def edges(graph):
    return {(a, b): pytest.approx(weight, abs=1e-6) for a, b, weight in graph.edges(data="weight")}


def test_an_edge_is_the_mean_of_both_directions_from_the_threshold_on():
    graph = layer_graph(SCORES, threshold=0.05)
    assert edges(graph) == {
        (1, 2): 0.75, (1, 3): 0.7, (2, 3): 0.4, (4, 5): 0.7, (1, 5): 0.12, (2, 4): 0.12,
        (2, 5): 0.12, (3, 4): 0.12,
    }  # fmt: skip
    assert nx.get_edge_attributes(graph, "distance")[1, 5] == 4
    for threshold, n in ((0.0, 10), (0.3, 4), (0.5, 3), (0.8, 0)):
        graph = layer_graph(SCORES, threshold=threshold)
        assert graph.number_of_edges() == n
        assert (list(graph), graph.graph["pairs"]) == ([1, 2, 3, 4, 5], 10)
    weight = layer_graph(SCORES, threshold=0.6).edges[1, 2]["weight"]
    at_the_threshold = layer_graph(SCORES, threshold=weight)
    assert (1, 2) in at_the_threshold.edges


def test_pairs_without_a_score_are_counted_and_no_edges():
    rank = np.array([8, 8, 0, 8, 8])  # below K = 1 in block 3
    graph = layer_graph(score_pairs(planted(rank=rank), VIEW), threshold=0.0)
    assert graph.graph["pairs_without_score"] == 4
    assert (graph.degree(3), graph.number_of_edges()) == (0, 6)
    undefined = View(k=1, definition="preprint")  # has no corrected score
    graph = layer_graph(score_pairs(random_result(), undefined), corrected=False, threshold=0.0)
    assert graph.edges[1, 2]["coupling"] == pytest.approx(1)
    assert "corrected" not in graph.edges[1, 2]


def test_the_table_of_edges_has_both_ways_of_each():
    result, view = random_result(n_blocks=5), View(k=5, definition="page", role="B")
    found = score_pairs(result, view)
    for corrected, scores in ((True, found.corrected), (False, found.coupling)):
        graph = layer_graph(score_pairs(result, view), corrected=corrected, threshold=0.0)
        table = graphs.graph_edges(graph)
        assert list(table) == list(graphs.EDGE_COLUMNS)
        assert len(table) == graph.number_of_edges() > 0
        assert edges_table(result, view, corrected=corrected, threshold=0.0).equals(table)
        for row in table.itertuples():
            assert row.forward == scores[row.block - 1, row.basis - 1]
            assert row.backward == scores[row.basis - 1, row.block - 1]
            assert row.weight == (row.forward + row.backward) / 2
        assert (table.block < table.basis).all()
        assert table.weight.is_monotonic_decreasing
        named = {"role": "B", "definition": "page", "K": 5}
        assert named.items() <= table.attrs.items()
    by_name = layer_graph(result.scores(5, role="B", definition="page"), threshold=0)
    assert graphs.graph_edges(by_name).equals(
        graphs.graph_edges(layer_graph(score_pairs(result, view), threshold=0))
    )


def test_the_blocks_of_the_view_are_the_nodes_in_whatever_order_they_are_named():
    graph = layer_graph(score_pairs(RESULT, replace(VIEW, blocks=(1, 3, 5))), threshold=0.05)
    assert list(graph) == [1, 3, 5]
    assert edges(graph) == {(1, 3): 0.7, (1, 5): 0.12}
    assert graph.nodes[5]["relative_depth"] == 1
    assert graph.nodes[1]["strength"] == pytest.approx(0.82, abs=1e-6)
    mixed, in_order = (
        layer_graph(random_result().scores(5, blocks), threshold=0)
        for blocks in ([5, 2, 3], [2, 3, 5])
    )
    assert graphs.graph_edges(mixed).equals(graphs.graph_edges(in_order))
    assert list(mixed) == [2, 3, 5]


def test_groups_that_keep_to_themselves_are_communities_and_others_are_alone():
    graph = layer_graph(SCORES, threshold=0.05)
    assert graphs.communities(graph) == [(1, 2, 3), (4, 5)]
    assert [graph.nodes[block]["community"] for block in graph] == [1, 1, 1, 2, 2]
    apart = layer_graph(score_pairs(RESULT, replace(VIEW, blocks=(1, 2, 4))), threshold=0.3)
    assert graphs.communities(apart) == [(1, 2), (4,)]
    assert graphs.groups(apart) == [(1, 2)]
    pairs = np.eye(4)
    pairs[0, 1] = pairs[1, 0] = pairs[2, 3] = pairs[3, 2] = 0.5
    assert graphs.modularity(layer_graph(score_pairs(planted(pairs), VIEW))) == pytest.approx(0.5)
    uncoupled = layer_graph(score_pairs(planted(np.eye(4)), VIEW), threshold=0.0)
    assert graphs.communities(uncoupled) == [(1,), (2,), (3,), (4,)]
    assert np.isnan(graphs.modularity(uncoupled))


def test_the_strongest_partner_has_the_heaviest_edge_or_is_a_neighbour():
    assert graphs.strongest_partners(SCORES) == {1: 2, 2: 1, 3: 1, 4: 5, 5: 4}
    nothing = planted(rank=np.zeros(5, int))
    assert graphs.strongest_partners(score_pairs(nothing, VIEW)) == {1: 2, 2: 3, 3: 4, 4: 5, 5: 4}
    assert graphs.strongest_partners(score_pairs(RESULT, replace(VIEW, blocks=(2,)))) == {2: 2}


def test_graphml_reads_back_as_it_was_with_the_score_of_each_direction():
    for threshold in (0.05, 1.0):  # the second without an edge
        graph = graphs.directed(layer_graph(SCORES, threshold=threshold), SCORES)
        read = nx.read_graphml(io.BytesIO(graphs.to_graphml(graph)), node_type=int)
        assert read.is_directed()
        assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
        assert {(a, b): d for a, b, d in read.edges(data=True)} == {
            (a, b): d for a, b, d in graph.edges(data=True)
        }
        told = {name: read.graph[name] for name in ("prompt", "definition", "pairs")}
        assert told == {"prompt": "The cat sat down", "definition": "alignment", "pairs": 10}
        if threshold < 1:
            assert graph.edges[1, 2]["coupling"] == pytest.approx(0.9, abs=1e-6)
            assert graph.edges[2, 1]["coupling"] == pytest.approx(0.6, abs=1e-6)


def test_any_prompt_can_stand_in_graphml():
    for prompt in ("a\x00b\x1b[0m", "<&>\"'", "naïve 😀\nline"):
        named = replace(RESULT, request=replace(RESULT.request, prompt=prompt))
        content = graphs.to_graphml(layer_graph(score_pairs(named, VIEW)))
        read = nx.read_graphml(io.BytesIO(content), node_type=int)
        assert read.graph["prompt"] == prompt.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")


def test_locality_is_the_mean_over_the_pairs_at_each_distance():
    found = locality(SCORES)
    assert list(found.distance) == [1, 2, 3, 4]
    assert list(found.pairs) == [4, 3, 2, 1]
    # by hand, of the means of the two directions
    at = [[0.75, 0.4, 0.12, 0.7], [0.7, 0.12, 0.0], [0.0, 0.12], [0.12]]
    assert found.mean == pytest.approx([np.mean(w) for w in at], abs=1e-6)
    assert found.spread == pytest.approx([np.std(w) for w in at], abs=1e-6)
    assert found.chance == pytest.approx(0)
    result, view = random_result(), View(k=3, role="B")
    scores, raw = score_pairs(result, view), locality(result.scores(3, role="B"), corrected=False)
    np.testing.assert_array_equal(raw.mean, locality(scores, corrected=False).mean)
    for curve, values in ((raw.mean, scores.coupling), (raw.chance, scores.chance)):
        assert curve[-1] == pytest.approx((values[0, 4] + values[4, 0]) / 2)


def test_locality_leaves_out_what_has_no_score():
    found = locality(score_pairs(planted(rank=np.array([0, 8, 8, 8, 8])), VIEW))
    assert list(found.pairs) == [3, 2, 1, 0]
    assert found.mean[:3] == pytest.approx([1.22 / 3, 0.06, 0.12], abs=1e-6)
    assert np.isnan([found.mean[3], found.spread[3], found.chance[3]]).all()
    some = score_pairs(RESULT, replace(VIEW, blocks=(1, 2, 5)))
    assert list(locality(some).distance) == [1, 3, 4]
    assert "No pair" in locality(random_result().scores(1, definition="preprint")).verdict


def test_a_threshold_below_chance_and_the_edges_of_the_last_block_are_told():
    for corrected in (True, False):
        graph = layer_graph(random_result().scores(8), corrected=corrected, threshold=0)
        assert ("chance alone" in graphs.communities_words(graph)) is not corrected
    floor = min(edge["chance"] for *_, edge in graph.edges(data=True))
    graph = layer_graph(random_result().scores(8), corrected=False, threshold=floor + 0.01)
    assert "chance alone" not in graphs.communities_words(graph)
    graph = layer_graph(SCORES, threshold=0.0)
    told = graphs.last_block_words(graph)
    assert told.startswith(f"{graph.degree(5)} of {graph.number_of_edges()} edges")
    assert told in RESULT.plot("graph", threshold=0.0).figure.layout.meta["summary"]
    part = layer_graph(score_pairs(RESULT, replace(VIEW, blocks=(1, 2, 3))))
    excluded = replace(RESULT, request=replace(RESULT.request, final_norm="exclude"))
    without_norm = layer_graph(score_pairs(excluded, VIEW))
    for other in (part, layer_graph(SCORES, threshold=1.0), without_norm):
        assert graphs.last_block_words(other) == ""
