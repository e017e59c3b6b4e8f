"""The layer graph: planted weights come back as edges, communities and a locality curve."""

import inspect
import io
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from cases import VIEW, planted, random_result

from coupling_core import InputError, View, score_pairs
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
    require_threshold,
    strongest_partners,
    to_graphml,
)
from coupling_core.analysis.locality import locality
from coupling_core.figures.export import on_paper


def uncoupled(n_blocks=4):
    return planted(np.eye(n_blocks))


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


@pytest.mark.parametrize(
    ("threshold", "n"), [(0.0, 10), (0.05, 8), (0.3, 4), (0.5, 3), (0.8, 0), (1.0, 0)]
)
def test_the_threshold_leaves_out_weaker_edges(threshold, n):
    graph = layer_graph(planted(), VIEW, threshold=threshold)
    assert graph.number_of_edges() == n
    assert list(graph) == [1, 2, 3, 4, 5]
    assert graph.graph["pairs"] == 10


def test_an_edge_at_the_threshold_is_drawn():
    half = planted(np.array([[1.0, 0.5], [0.5, 1.0]]))
    weight = layer_graph(half, VIEW, threshold=0.4).edges[1, 2]["weight"]
    assert layer_graph(half, VIEW, threshold=weight).number_of_edges() == 1


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan")])
def test_a_threshold_outside_of_the_scores_is_refused(threshold):
    with pytest.raises(InputError, match=r"threshold must lie in 0\.\.1"):
        layer_graph(planted(), VIEW, threshold=threshold)


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
        assert graph.edges[1, 3]["corrected"] == pytest.approx(
            (found.corrected[0, 2] + found.corrected[2, 0]) / 2
        )


def test_a_score_that_does_not_exist_is_no_attribute():
    graph = layer_graph(
        random_result(), View(k=1, definition="preprint"), corrected=False, threshold=0.0
    )
    assert graph.edges[1, 2]["coupling"] == pytest.approx(1)
    assert "corrected" not in graph.edges[1, 2]


def test_the_blocks_of_the_view_are_the_nodes():
    graph = layer_graph(planted(), replace(VIEW, blocks=(1, 3, 5)), threshold=0.05)
    assert list(graph) == [1, 3, 5]
    assert edges(graph) == {(1, 3): 0.7, (1, 5): 0.12}
    assert graph.nodes[5]["relative_depth"] == 1
    assert graph.nodes[1]["strength"] == pytest.approx(0.82, abs=1e-6)


# ---- communities


def test_groups_that_keep_to_themselves_are_communities():
    graph = layer_graph(planted(), VIEW, threshold=0.05)
    assert communities(graph) == [(1, 2, 3), (4, 5)]
    assert [graph.nodes[block]["community"] for block in graph] == [1, 1, 1, 2, 2]


def test_a_block_without_an_edge_is_alone():
    graph = layer_graph(planted(), VIEW, threshold=0.7 - 1e-6)
    assert communities(graph) == [(1, 2, 3), (4, 5)]
    apart = layer_graph(planted(), replace(VIEW, blocks=(1, 2, 4)), threshold=0.3)
    assert communities(apart) == [(1, 2), (4,)]
    assert groups(apart) == [(1, 2)]


def test_the_modularity_of_two_equal_pairs_is_a_half():
    scores = np.eye(4)
    scores[0, 1] = scores[1, 0] = scores[2, 3] = scores[3, 2] = 0.5
    graph = layer_graph(planted(scores), VIEW)
    assert communities(graph) == [(1, 2), (3, 4)]
    assert modularity(graph) == pytest.approx(0.5)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_without_coupling_every_block_is_alone(threshold):
    graph = layer_graph(uncoupled(), VIEW, threshold=threshold)
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
    graph = directed(layer_graph(result, VIEW, threshold=0.05), result, VIEW)
    read = nx.read_graphml(io.BytesIO(to_graphml(graph)), node_type=int)
    assert read.is_directed()
    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    assert {(a, b): d for a, b, d in read.edges(data=True)} == {
        (a, b): d for a, b, d in graph.edges(data=True)
    }
    assert read.graph["prompt"] == "The cat sat down"
    assert read.graph["definition"] == "alignment"
    assert "no unit" in read.graph["weight_meaning"]
    assert read.graph["distance_meaning"] == "|l - l'| in blocks"
    assert (read.graph["threshold"], read.graph["pairs"]) == (0.05, 10)


def test_a_graph_without_an_edge_is_a_file_too():
    result = uncoupled()
    graph = directed(layer_graph(result, VIEW), result, VIEW)
    read = nx.read_graphml(io.BytesIO(to_graphml(graph)), node_type=int)
    assert sorted(read) == [1, 2, 3, 4]
    assert read.number_of_edges() == 0


@pytest.mark.parametrize("prompt", ["a\x00b\x1b[0m", "<&>\"'", "naïve 😀\nline"])
def test_any_prompt_can_stand_in_graphml(prompt):
    result = planted()
    result = replace(result, request=replace(result.request, prompt=prompt))
    read = nx.read_graphml(io.BytesIO(to_graphml(layer_graph(result, VIEW))), node_type=int)
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


def test_raw_locality_has_its_chance_floor():
    result, view = random_result(n_blocks=4), View(k=5)
    found, scores = locality(result, view, corrected=False), score_pairs(result, view)
    assert found.chance[-1] == pytest.approx((scores.chance[0, 3] + scores.chance[3, 0]) / 2)
    assert found.mean[-1] == pytest.approx((scores.coupling[0, 3] + scores.coupling[3, 0]) / 2)


def test_distances_are_those_of_the_block_numbers():
    found = locality(planted(), replace(VIEW, blocks=(1, 2, 5)))
    assert list(found.distance) == [1, 3, 4]
    assert locality(planted(), replace(VIEW, blocks=(2,))).distance.size == 0


def test_k_is_said_as_for_scores():
    result = random_result()
    by_view, by_k = (
        layer_graph(result, View(k=3), threshold=0),
        layer_graph(result, k=3, threshold=0),
    )
    assert dict(by_k.edges) == dict(by_view.edges)
    assert dict(by_k.edges) != dict(layer_graph(result, k=2, threshold=0).edges)
    with pytest.raises(InputError, match="k=3 came beside a view"):
        layer_graph(result, View(k=3), k=3)


@pytest.mark.parametrize("threshold", ["x", None])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    unchecked = inspect.unwrap(require_threshold)  # without the types that tests check
    with pytest.raises(InputError, match=r"threshold must be a number, and ('x'|None) came"):
        unchecked(threshold)


@pytest.mark.parametrize("corrected", [True, False])
def test_the_table_of_edges_has_both_ways_of_each(corrected):
    result = random_result(n_blocks=5)
    view = View(k=5, definition="page", role="B")
    graph = layer_graph(result, view, corrected=corrected, threshold=0.0)
    table, found = graph_edges(graph), score_pairs(result, view)
    scores = found.corrected if corrected else found.coupling
    assert list(table) == list(EDGE_COLUMNS)
    assert len(table) == graph.number_of_edges() > 0
    for row in table.itertuples():
        assert row.forward == scores[row.block - 1, row.basis - 1]
        assert row.backward == scores[row.basis - 1, row.block - 1]
        assert row.weight == (row.forward + row.backward) / 2
    assert (table.block < table.basis).all()
    assert table.weight.is_monotonic_decreasing
    assert (table.attrs["role"], table.attrs["definition"], table.attrs["K"]) == ("B", "page", 5)
    listed = nx.to_pandas_edgelist(graph).set_index(["source", "target"])
    assert set(listed["forward"]) == set(table["forward"])


@pytest.mark.parametrize("of", [graph_edges, communities, modularity])
def test_what_is_no_layer_graph_is_refused(of):
    with pytest.raises(InputError, match="a Graph came where a layer graph is needed"):
        of(nx.Graph())


def test_the_directed_graph_has_the_scores_of_each_direction_alone():
    result, view = random_result(n_blocks=4), View(k=5)
    both = directed(layer_graph(result, view, threshold=0.0), result, view)
    assert {name for *_, edge in both.edges(data=True) for name in edge} == {
        "weight", "distance", "coupling", "chance", "corrected"
    }  # fmt: skip


def test_communities_are_those_of_the_edges_as_they_are():
    graph = layer_graph(planted(), VIEW, threshold=0.05)
    assert communities(graph) == [(1, 2, 3), (4, 5)]
    fewer = graph.copy()
    fewer.remove_node(2)
    fewer.remove_edges_from([edge for edge in fewer.edges if 4 in edge])
    assert (4,) in communities(fewer)
    assert modularity(fewer) == pytest.approx(
        nx.community.modularity(fewer, communities(fewer), weight="weight")
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


def test_a_role_is_said_as_for_scores():
    result = random_result()
    for of in (layer_graph, locality):
        by_view, by_role = of(result, View(k=3, role="B")), of(result, k=3, role="B")
        assert by_view.__dict__.keys() == by_role.__dict__.keys()
    at = locality(result, k=3, role="B")
    assert at == locality(result, View(k=3, role="B"))
    assert at != locality(result, k=3)


def test_a_threshold_below_chance_is_told_of_raw_scores():
    result = random_result()
    raw = layer_graph(result, k=8, corrected=False, threshold=0)
    assert "Every pair is an edge, for chance alone gives" in communities_words(raw)
    for graph in (layer_graph(result, k=8, threshold=0), layer_graph(result, k=8, threshold=0.9)):
        assert "chance" not in communities_words(graph)


def test_distances_without_a_score_have_a_sentence():
    told = locality(random_result(), k=1, definition="preprint").verdict
    assert told == (
        "No pair has a score: there is no mean chance-corrected score at K = 1 (preprint)."
    )
    with pytest.raises(InputError, match="distances are of pairs of blocks"):
        locality(random_result(), k=1, blocks=[2])


def test_how_many_edges_are_of_the_last_block_is_told():
    result = planted()
    graph = layer_graph(result, VIEW, threshold=0.0)
    L, n = result.n_blocks, graph.degree(result.n_blocks)
    told = f"{n} of {graph.number_of_edges()} edges are of block {L}, which has the model's final"
    assert last_block_words(graph).startswith(told)
    for other in (
        layer_graph(result, replace(VIEW, blocks=(1, 2, 3)), threshold=0.0),
        layer_graph(result, VIEW, threshold=1.0),
        layer_graph(replace(result, request=replace(result.request, final_norm="exclude")), VIEW),
    ):
        assert last_block_words(other) == ""
    drawn = result.plot("graph", threshold=0.0)
    assert told in drawn.figure.layout.meta["summary"]
    assert told in repr(drawn)
    page = on_paper(drawn.figure, result, VIEW)
    (notes,) = [note.text for note in page.layout.annotations if note.name == "provenance"]
    assert f"{graph.number_of_edges()} of 10 pairs are edges, at 0 or more" in notes


def test_a_directed_graph_and_a_threshold_in_words_are_refused():
    graph = layer_graph(planted(), VIEW, threshold=0.0)
    with pytest.raises(InputError, match=r"a directed graph came, as a \.graphml file"):
        inspect.unwrap(graph_edges)(directed(graph, planted(), VIEW))
    with pytest.raises(InputError, match="threshold must be a number"):
        inspect.unwrap(require_threshold)("0.1")
