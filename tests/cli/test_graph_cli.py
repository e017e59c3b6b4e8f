"""`coupling graph` and `coupling compare` on the committed gallery, and on planted results."""

import re
import shlex
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from cases import SCORES, planted
from command_line import printed, refusal

from coupling_core import Store, View, compare, layer_graph, locality, score_pairs
from coupling_core.experiments.gallery import EXAMPLES, requests
from coupling_core.sources.resolved import resolve
from coupling_core.store.archive import save
from coupling_core.store.request_key import make_key
from explorer.pages.compare import recipes as compare_recipes
from explorer.pages.layer_graph import GraphState
from explorer.pages.layer_graph import recipes as graph_recipes
from explorer.session.state import State

pytestmark = pytest.mark.real  # the gallery is found by the identity of the model in its wheel

FRANCE = ("--prompt", EXAMPLES[0])


@pytest.fixture(scope="module")
def trained():
    return Store().find(requests()[0], resolve(requests()[0]).identity)


# ---- graph


def test_json_has_the_edges_the_communities_and_the_locality(run, trained):
    said = printed(run("graph", *FRANCE, "--threshold", 0.1, "--json"))
    graph = layer_graph(score_pairs(trained, View()), threshold=0.1)
    weights = {(e["block"], e["basis"]): e["weight"] for e in said["edges"]}
    assert weights == {(a, b): pytest.approx(w) for a, b, w in graph.edges(data="weight")}
    assert [e["weight"] for e in said["edges"]] == sorted(weights.values(), reverse=True)
    found, first = score_pairs(trained, View()).corrected, said["edges"][0]
    cell = first["block"] - 1, first["basis"] - 1
    assert (first["forward"], first["backward"]) == pytest.approx((found[cell], found[cell[::-1]]))
    assert said["locality"]["mean"] == pytest.approx(locality(score_pairs(trained, View())).mean)
    assert sum(map(len, said["communities"])) == 30
    assert (said["pairs"], said["pairs_without_score"], said["stored"]) == (435, 0, True)
    assert said["key"] == trained.key


def test_an_untrained_model_has_no_edge_and_people_read_how_many(run):
    said = printed(run("graph", *FRANCE, "--untrained", 0, "--json"))
    assert (said["edges"], said["modularity"], len(said["communities"])) == ([], None, 30)
    status, out, err = run("graph", *FRANCE, "--threshold", 0.2, "--raw", "--blocks", "9-16")
    assert (status, err) == (0, "")
    assert "28 of 28 pairs are edges, at 0.2" in out
    assert "30 of 30 certified" in out


def test_files_have_both_directions_of_the_edges_and_every_pair(run, tmp_path, trained):
    asked = ("graph", *FRANCE, "--blocks", "9-16", "--k", 10, "--out")
    for name in ("g.graphml", "g.csv", "g.npz"):
        assert run(*asked, name)[0] == 0
    view = View(k=10, blocks=tuple(range(9, 17)))
    found = score_pairs(trained, view).corrected
    edges = layer_graph(score_pairs(trained, view)).number_of_edges()
    assert len(pd.read_csv(tmp_path / "g.csv")) == edges > 0
    graph = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert graph.number_of_edges() == 2 * edges
    assert graph.edges[12, 11]["corrected"] == pytest.approx(found[3, 2])
    arrays = np.load(tmp_path / "g.npz")
    np.fill_diagonal(weight := (found + found.T) / 2, np.nan)
    assert arrays["weight"] == pytest.approx(weight, nan_ok=True)
    assert arrays["blocks"].tolist() == list(range(9, 17))
    assert arrays["community"].shape == (8,)
    assert arrays["mean"] == pytest.approx(locality(score_pairs(trained, view)).mean)


def test_the_code_on_the_page_gives_what_the_page_shows(run, tmp_path, trained, capsys):
    state = GraphState(threshold=0.1, layout="spring", node_color="depth", raw=True)
    program, command = graph_recipes(state.request(), state.view(trained), state)
    words = shlex.split(command.replace("\\\n", ""))
    pages = []
    for figure in ((), ("--figure", "locality")):
        assert run(*words[3:], "--out", "g.html", *figure)[0] == 0
        pages.append((tmp_path / "g.html").read_text())
    assert ["Weights are the score c" in page for page in pages] == [True, False]
    exec(program, {})
    scores = score_pairs(trained, View())
    edges = layer_graph(scores, threshold=0.1, corrected=False).number_of_edges()
    assert capsys.readouterr().out.count("'weight'") == edges > 0


# ---- compare


@pytest.fixture
def keys():
    """The gallery's trained and untrained of the first prompt."""
    return [Store().key(request, resolve(request).identity) for request in requests()[:2]]


def test_json_has_both_their_difference_and_what_it_comes_to(run, keys, trained):
    untrained = Store().get(keys[1])
    said = printed(run("compare", keys[0], keys[1][:6], "--k", 10, "--json"))
    found = compare(trained, untrained, View(k=10))
    assert np.array(said["difference"]) == pytest.approx(found.difference)
    assert np.array(said["corrected"][1]) == pytest.approx(
        score_pairs(untrained, View(10)).corrected
    )
    assert said["summary"]["difference"] == pytest.approx(found.difference[found.counted].mean())
    assert (said["matched_by"], said["score"], said["k"]) == ("number", "corrected", 10)
    assert (said["a"]["key"], len(said["differ_in"]), len(said["differences"])) == (keys[0], 1, 870)
    largest = said["differences"][0]
    assert abs(largest["difference"]) == pytest.approx(np.abs(found.difference).max())


def test_what_the_page_says_makes_the_same_comparison(run, keys, capsys, trained):
    state = State(k=20, definition="page", raw=True)
    program, command = compare_recipes(*keys, state.view(trained), state)
    said = printed(run(*shlex.split(command.replace("\\\n", ""))[3:], "--json"))
    found = compare(trained, Store().get(keys[1]), state.view(trained), corrected=False)
    assert np.array(said["difference"]) == pytest.approx(found.difference)
    exec(program, {})
    assert f"A - B is {said['summary']['difference']:.3f}" in capsys.readouterr().out


def test_files_of_a_comparison(run, keys, tmp_path, trained):
    found = compare(trained, Store().get(keys[1]), View())
    pages = []
    for name in ("comparison", "difference"):
        status, _, err = run("compare", *keys, "--figure", name, "--out", "c.html")
        assert status == 0, err
        pages.append((tmp_path / "c.html").read_text().count('"type":"heatmap"'))
    assert pages[0] - 2 >= pages[1] > 0
    for name in ("c.npz", "c.csv"):
        assert run("compare", *keys, "--out", name)[0] == 0
    assert np.load(tmp_path / "c.npz")["difference"] == pytest.approx(found.difference)
    table = pd.read_csv(tmp_path / "c.csv")
    assert (len(table), set(table["K"])) == (870, {50})
    assert set(table["A prompt"]) == {trained.prompt_text}
    assert set(table["B model"]) == {"SmolLM2-135M-Instruct, untrained (seed 0)"}


def test_results_in_files_of_other_depths_are_matched(run, tmp_path):
    for name, result in (("a", planted(SCORES)), ("b", planted(np.eye(3)))):
        key = str(make_key(result.request, result.identity))
        save(replace(result, key=key), tmp_path / f"{name}.safetensors")
    view = ("--k", 1, "--definition", "alignment")
    files = ("compare", "a.safetensors", "b.safetensors")
    said = printed(run(*files, *view, "--json"))
    assert said["matched_by"] == "relative depth"
    assert (said["a"]["blocks"], said["b"]["blocks"]) == ([1, 3, 5], [1, 2, 3])
    assert said["summary"]["a"] == pytest.approx((0.7 + 0.12 + 0.7 + 0 + 0.12 + 0) / 6)
    assert "matched by nearest relative depth" in run(*files, *view)[1]
    assert printed(run(*files, "--json"))["k"] == 8  # all the triplets of a narrow result


@pytest.fixture
def twins(run, folder):
    """Keys of the same measurement of the tiny model and of its untrained twin."""

    def twins(*words):
        asked = (*words, "--model", folder, "--prompt", "The cat sat", "--json")
        return [printed(run(*asked, *twin))["key"] for twin in ((), ("--untrained", 0))]

    return twins


def test_two_trajectories_are_compared_by_the_numbers_of_their_paths(run, twins, tmp_path):
    keys = twins("trajectory")
    found = compare(*map(Store().get, keys))
    expected = found.to_pandas()
    said = printed(run("compare", *keys, "--json"))
    assert said["rows"] == expected.to_dict("records")
    assert [said[side]["key"] for side in "ab"] == keys
    out = run("compare", *keys, "--out", "paths.csv")[1]
    for row in expected.itertuples():
        numbers = f"{row.a:.4g} +{row.b:.4g} +{row.difference:z.4g} +{row.a_above} +{row.tokens}"
        assert re.search(rf"{row.number} +{numbers}", out)
    table = pd.read_csv(tmp_path / "paths.csv")
    assert table["difference"].tolist() == pytest.approx(expected["difference"].tolist())
    for figure, is_paths in (((), False), (("--figure", "paths"), True)):
        assert run("compare", *keys, "--out", "paths.html", *figure)[0] == 0
        page = (tmp_path / "paths.html").read_text()
        assert ("dashed, in the same components" in page) == is_paths
    assert ".npz" in refusal(run("compare", *keys, "--out", "paths.npz"))
    assert "no K" in refusal(run("compare", *keys, "--k", 4))


def test_two_results_between_tokens_are_compared_pair_by_pair(run, twins, tmp_path):
    keys = twins("tokens", "--block", 2)
    a, b = map(Store().get, keys)
    found = compare(a, b, k=5, corrected=False)
    expected = a.scores(k=5).coupling - b.scores(k=5).coupling
    said = printed(run("compare", *keys, "--k", 5, "--raw", "--json", "--out", "t.csv"))
    rows, written = said["rows"], pd.read_csv(tmp_path / "t.csv")
    assert len(rows) == len(written) == found.mean().pairs
    for row in rows:
        at = row["token"] - 1, row["other_token"] - 1
        assert row["difference"] == pytest.approx(expected[at])
        assert (row["text"], row["other_text"]) == (a.tokens[at[0]], a.tokens[at[1]])
    assert run("compare", *keys, "--k", 5, "--out", "t.html")[0] == 0
    assert run("compare", *keys, "--k", 5, "--raw", "--out", "t.npz")[0] == 0
    assert np.load(tmp_path / "t.npz")["difference"] == pytest.approx(expected, nan_ok=True)
    assert "blocks" in refusal(run("compare", *keys, "--blocks", "1-2"))
    assert "'self'" in refusal(run("compare", keys[0], twins("trajectory")[0]))
