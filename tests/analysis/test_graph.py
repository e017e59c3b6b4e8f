"""The layer graph: planted weights come back as edges, communities and a locality curve."""

import io
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from cases import VIEW, planted, random_result

from coupling_core import View, score_pairs
from coupling_core.analysis.graph import (
    EDGE_COLUMNS,
    communities,
    communities_words,
    directed,
    graph_edges,
    groups,
    last_block_words,
    layer_graph,
    modularity,
    strongest_partners,
    to_graphml,
)
from coupling_core.analysis.locality import locality
from coupling_core.figures.export import on_paper


def edges(graph):
    return {(a, b): pytest.approx(weight, abs=1e-6) for a, b, weight in graph.edges(data="weight")}


# ---- edges


def test_an_edge_is_the_mean_of_both_directions():
    graph = layer_graph(planted(), VIEW, threshold=0.05)
    assert edges(graph) == {
        (1, 2): 0.75, (1, 3): 0.7, (2, 3): 0.4, (4, 5): 0.7, (1, 5): 0.12, (2, 4): 0.12,
        (2, 5): 0.12, (3, 4): 0.12,
    }  # fmt: skip
    assert nx.get_edge_attributes(graph, "distance")[1, 5] == 4


def test_the_threshold_leaves_out_weaker_edges():
    for threshold, n in ((0.0, 10), (0.05, 8), (0.3, 4), (0.5, 3), (0.8, 0), (1.0, 0)):
        graph = layer_graph(planted(), VIEW, threshold=threshold)
        assert graph.number_of_edges() == n
        assert list(graph) == [1, 2, 3, 4, 5]
        assert graph.graph["pairs"] == 10
    weight = layer_graph(planted(), VIEW, threshold=0.6).edges[1, 2]["weight"]
    assert (1, 2) in layer_graph(planted(), VIEW, threshold=weight).edges  # at the threshold itself


def test_pairs_without_a_score_are_counted_and_no_edges():
    rank = np.array([8, 8, 0, 8, 8])  # below K = 1 in block 3
    graph = layer_graph(planted(rank=rank), VIEW, threshold=0.0)
    assert graph.graph["pairs_without_score"] == 4
    assert graph.degree(3) == 0
    assert graph.number_of_edges() == 6


def test_raw_and_chance_corrected_weights_are_those_of_the_scores():
    result, view = random_result(n_blocks=4), View(k=5, definition="page")
    found = score_pairs(result, view)
    for corrected, scores in ((True, found.corrected), (False, found.coupling)):
        graph = layer_graph(result, view, corrected=corrected, threshold=0.0)
        expected = (scores[0, 2] + scores[2, 0]) / 2
        assert graph.edges[1, 3]["weight"] == pytest.approx(expected)
        by_distance = locality(result, view, corrected=corrected)
        floor = 0 if corrected else (found.chance[0, 3] + found.chance[3, 0]) / 2
        assert by_distance.chance[-1] == pytest.approx(floor)
        assert by_distance.mean[-1] == pytest.approx((scores[0, 3] + scores[3, 0]) / 2)
    undefined = View(k=1, definition="preprint")
    graph = layer_graph(random_result(), undefined, corrected=False, threshold=0.0)
    assert graph.edges[1, 2]["coupling"] == pytest.approx(1)
    assert "corrected" not in graph.edges[1, 2]


def test_the_blocks_of_the_view_are_the_nodes():
    graph = layer_graph(planted(), replace(VIEW, blocks=(1, 3, 5)), threshold=0.05)
    assert list(graph) == [1, 3, 5]
    assert edges(graph) == {(1, 3): 0.7, (1, 5): 0.12}
    assert graph.nodes[5]["relative_depth"] == 1
    assert graph.nodes[1]["strength"] == pytest.approx(0.82, abs=1e-6)


# ---- communities


def test_groups_that_keep_to_themselves_are_communities_and_others_are_alone():
    graph = layer_graph(planted(), VIEW, threshold=0.05)
    assert communities(graph) == [(1, 2, 3), (4, 5)]
    assert [graph.nodes[block]["community"] for block in graph] == [1, 1, 1, 2, 2]
    apart = layer_graph(planted(), replace(VIEW, blocks=(1, 2, 4)), threshold=0.3)
    assert communities(apart) == [(1, 2), (4,)]
    assert groups(apart) == [(1, 2)]
    pairs = np.eye(4)
    pairs[0, 1] = pairs[1, 0] = pairs[2, 3] = pairs[3, 2] = 0.5
    assert modularity(layer_graph(planted(pairs), VIEW)) == pytest.approx(0.5)
    fewer = graph.copy()
    fewer.remove_edges_from([edge for edge in fewer.edges if 4 in edge])
    assert (4,) in communities(fewer)  # of the edges as they are


def test_without_coupling_every_block_is_alone():
    for threshold in (0.0, 0.5):
        graph = layer_graph(planted(np.eye(4)), VIEW, threshold=threshold)
        assert communities(graph) == [(1,), (2,), (3,), (4,)]
        assert np.isnan(modularity(graph))
        assert groups(graph) == []


def test_the_strongest_partner_has_the_heaviest_edge():
    assert strongest_partners(score_pairs(planted(), VIEW)) == {1: 2, 2: 1, 3: 1, 4: 5, 5: 4}


def test_without_a_score_the_partner_is_a_neighbour():
    nothing = planted(rank=np.zeros(5, int))
    assert strongest_partners(score_pairs(nothing, VIEW)) == {1: 2, 2: 3, 3: 4, 4: 5, 5: 4}
    alone = score_pairs(planted(), replace(VIEW, blocks=(2,)))
    assert strongest_partners(alone) == {2: 2}


# ---- GraphML


def test_each_direction_has_its_own_score():
    result = planted()
    both = directed(layer_graph(result, VIEW, threshold=0.05), result, VIEW)
    assert both.number_of_edges() == 16
    assert both.edges[1, 2]["coupling"] == pytest.approx(0.9, abs=1e-6)
    assert both.edges[2, 1]["coupling"] == pytest.approx(0.6, abs=1e-6)
    assert both.edges[1, 2]["weight"] == both.edges[2, 1]["weight"]


def test_graphml_reads_back_as_it_was():
    result = planted()
    for graph in (
        directed(layer_graph(result, VIEW, threshold=0.05), result, VIEW),
        directed(layer_graph(result, VIEW, threshold=1.0), result, VIEW),  # without an edge
    ):
        read = nx.read_graphml(io.BytesIO(to_graphml(graph)), node_type=int)
        assert read.is_directed()
        assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
        assert {(a, b): d for a, b, d in read.edges(data=True)} == {
            (a, b): d for a, b, d in graph.edges(data=True)
        }
        told = {name: read.graph[name] for name in ("prompt", "definition", "pairs")}
        assert told == {"prompt": "The cat sat down", "definition": "alignment", "pairs": 10}


def test_any_prompt_can_stand_in_graphml():
    result = planted()
    for prompt in ("a\x00b\x1b[0m", "<&>\"'", "naïve 😀\nline"):
        named = replace(result, request=replace(result.request, prompt=prompt))
        read = nx.read_graphml(io.BytesIO(to_graphml(layer_graph(named, VIEW))), node_type=int)
        assert read.graph["prompt"] == prompt.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")


# ---- locality


def test_locality_is_the_mean_over_the_pairs_at_each_distance():
    found = locality(planted(), VIEW)
    assert list(found.distance) == [1, 2, 3, 4]
    assert list(found.pairs) == [4, 3, 2, 1]
    # by hand, of the means of the two directions
    at = [[0.75, 0.4, 0.12, 0.7], [0.7, 0.12, 0.0], [0.0, 0.12], [0.12]]
    assert found.mean == pytest.approx([np.mean(w) for w in at], abs=1e-6)
    assert found.spread == pytest.approx([np.std(w) for w in at], abs=1e-6)
    assert found.chance == pytest.approx(0)


def test_locality_leaves_out_what_has_no_score():
    found = locality(planted(rank=np.array([0, 8, 8, 8, 8])), VIEW)
    assert list(found.pairs) == [3, 2, 1, 0]
    assert found.mean[:3] == pytest.approx([1.22 / 3, 0.06, 0.12], abs=1e-6)
    assert np.isnan([found.mean[3], found.spread[3], found.chance[3]]).all()
    assert list(locality(planted(), replace(VIEW, blocks=(1, 2, 5))).distance) == [1, 3, 4]
    assert "No pair" in locality(random_result(), k=1, definition="preprint").verdict


def test_k_and_role_are_those_of_a_view():
    result = random_result()
    by_view, by_k = (
        graph_edges(layer_graph(result, threshold=0, **asked))
        for asked in ({"view": View(k=3, role="B")}, {"k": 3, "role": "B"})
    )
    assert by_k.equals(by_view)
    for other in ({"k": 2, "role": "B"}, {"k": 3}):
        assert not by_k.equals(graph_edges(layer_graph(result, threshold=0, **other)))
    at = locality(result, k=3, role="B")
    assert at == locality(result, View(k=3, role="B"))
    assert at != locality(result, k=3)


def test_the_table_of_edges_has_both_ways_of_each():
    result = random_result(n_blocks=5)
    view = View(k=5, definition="page", role="B")
    found = score_pairs(result, view)
    for corrected, scores in ((True, found.corrected), (False, found.coupling)):
        graph = layer_graph(result, view, corrected=corrected, threshold=0.0)
        table = graph_edges(graph)
        assert list(table) == list(EDGE_COLUMNS)
        assert len(table) == graph.number_of_edges() > 0
        for row in table.itertuples():
            assert row.forward == scores[row.block - 1, row.basis - 1]
            assert row.backward == scores[row.basis - 1, row.block - 1]
            assert row.weight == (row.forward + row.backward) / 2
        assert (table.block < table.basis).all()
        assert table.weight.is_monotonic_decreasing
        assert (table.attrs["role"], table.attrs["definition"], table.attrs["K"]) == (
            "B",
            "page",
            5,
        )


def test_the_order_in_which_blocks_are_named_changes_nothing():
    result = random_result(n_blocks=5)
    mixed, sorted_ = (
        layer_graph(result, k=5, blocks=blocks, threshold=0) for blocks in ([5, 2, 3], [2, 3, 5])
    )
    assert graph_edges(mixed).equals(graph_edges(sorted_))
    assert list(mixed) == [2, 3, 5]
    assert (graph_edges(mixed).block < graph_edges(mixed).basis).all()
    assert communities(mixed) == communities(sorted_)


def test_a_threshold_below_chance_is_told_of_raw_scores():
    result = random_result()
    for asked, told in (
        ({"corrected": False, "threshold": 0}, True),
        ({"threshold": 0}, False),
        ({"threshold": 0.9}, False),
    ):
        graph = layer_graph(result, k=8, **asked)
        assert ("chance alone gives" in communities_words(graph)) is told


def test_how_many_edges_are_of_the_last_block_is_told():
    result = planted()
    graph = layer_graph(result, VIEW, threshold=0.0)
    told = f"{graph.degree(5)} of {graph.number_of_edges()} edges are of block 5"
    assert last_block_words(graph).startswith(told)
    for other in (
        layer_graph(result, replace(VIEW, blocks=(1, 2, 3)), threshold=0.0),
        layer_graph(result, VIEW, threshold=1.0),
        layer_graph(replace(result, request=replace(result.request, final_norm="exclude")), VIEW),
    ):
        assert last_block_words(other) == ""
    drawn = result.plot("graph", threshold=0.0)
    assert told in drawn.figure.layout.meta["summary"]
    page = on_paper(drawn.figure, result, VIEW)
    (notes,) = [note.text for note in page.layout.annotations if note.name == "provenance"]
    assert f"{graph.number_of_edges()} of 10 pairs are edges" in notes
