"""Layer graph and Compare: what they show is what the core says, and their links carry it."""

import base64
from dataclasses import replace
from typing import Any

import numpy as np
from cases import random_result
from screen import PAGES, Open, charts, coloured, heat, words

from coupling_core import View, compare, layer_graph, locality, score_pairs, summarise
from coupling_core.experiments.gallery import requests, training_requests, vision_requests
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.session.plain_text import with_minus


def trace(figure: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [t for t in figure["data"] if t.get("name") == name]
    return found


def numbers(packed: Any) -> np.ndarray:
    """An array that travelled as binary, or as a list."""
    if not isinstance(packed, dict):
        return np.array(packed)
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), np.dtype(packed["dtype"]))
    return flat.reshape([int(n) for n in packed.get("shape", f"{flat.size}").split(",")])


def edges(app: Any) -> set[tuple[int, int]]:
    """The edges that can be clicked."""
    at = numbers(trace(charts(app)["graph"], "edges").get("customdata", []))
    return {(int(a), int(b)) for a, b in at}


# ---- Layer graph


def test_the_graph_has_the_edges_of_the_result(open_page: Open, gallery) -> None:
    app = open_page("Layer graph")
    graph = layer_graph(gallery[0, True], View())
    assert edges(app) == set(graph.edges)
    assert f"{graph.number_of_edges()} of 435 pairs are edges, at 0.1" in words(app)
    assert "where a click selects the pair" in words(app)
    curve = charts(app)["locality"]["data"][-1]
    np.testing.assert_allclose(numbers(curve["y"]), locality(gallery[0, True], View()).mean)


def test_the_threshold_counts_the_edges_anew(open_page: Open, gallery) -> None:
    app = open_page("Layer graph")
    app.slider(key="threshold@graph").set_value(0.2).run()
    graph = layer_graph(gallery[0, True], View(), threshold=0.2)
    assert edges(app) == set(graph.edges)
    assert f"{graph.number_of_edges()} of 435 pairs are edges, at 0.2 or more" in words(app)
    assert app.query_params["threshold"] == "0.2"


def test_the_untrained_twin_has_no_edge(open_page: Open) -> None:
    app = open_page("Layer graph")
    app.segmented_control(key="untrained@graph").set_value(True).run()
    assert edges(app) == set()
    assert "0 of 435 pairs" in words(app)
    assert "No two blocks form a community." in words(app)
    assert app.query_params["untrained"] == "0"


def test_its_switches_go_into_the_link_and_start_no_job(open_page: Open, gallery) -> None:
    app = open_page("Layer graph")
    app.segmented_control(key="layout@graph").set_value("circle").run()
    app.segmented_control(key="node_color@graph").set_value("depth").run()
    app.segmented_control(key="raw@graph").set_value(True).run()
    figure = charts(app)["graph"]
    nodes = trace(figure, "blocks")
    np.testing.assert_allclose(np.hypot(numbers(nodes["x"]), numbers(nodes["y"])), 1, rtol=1e-5)
    assert list(numbers(nodes["marker"]["color"])) == list(range(1, 31))
    assert edges(app) == set(layer_graph(gallery[0, True], View(), corrected=False).edges)
    assert set(app.query_params) == {"layout", "nodes", "raw"}
    assert not queue().active()


def test_the_selected_pair_is_told_in_both_directions(open_page: Open, gallery) -> None:
    app = open_page("Layer graph", block="30", basis="11")
    found = score_pairs(gallery[0, True], View()).corrected
    for cell in ((29, 10), (10, 29)):
        assert with_minus(f"chance-corrected **{found[cell]:.3f}**") in words(app)
    assert trace(charts(app)["graph"], "selected: 30 and 11")
    app.number_input(key="basis@pair").set_value(30).run()
    assert "coupled by construction, and is no edge" in words(app)


def test_a_selection_of_the_graph_is_that_of_depth(open_page: Open) -> None:
    app = open_page("Layer graph")
    app.number_input(key="block@pair").set_value(8).run()
    app.number_input(key="basis@pair").set_value(30).run()
    app.switch_page(PAGES["Depth"]).run()
    assert "Block 8 in the basis of block 30" in words(app)


def test_the_blocks_of_the_sidebar_are_the_nodes(open_page: Open) -> None:
    app = open_page("Layer graph", blocks="9-16", threshold="0")
    assert "of 28 pairs" in words(app)
    assert len(numbers(trace(charts(app)["graph"], "blocks")["x"])) == 8


def test_the_numbers_of_the_method_page_are_those_of_the_gallery(open_page: Open, gallery) -> None:
    edges = [layer_graph(gallery[0, on], View()).number_of_edges() for on in (True, False)]
    assert edges == [79, 0]
    assert "79 of 435 possible edges on the first example prompt, its untrained twin none" in words(
        open_page("Method")
    )


# ---- Compare


def test_a_trained_model_and_its_twin_are_compared_at_once(open_page: Open, gallery) -> None:
    app = open_page("Compare")
    found = compare(gallery[0, True], gallery[0, False], View())
    figures = charts(app)
    np.testing.assert_allclose(heat(figures["map-A"]), coloured(found.a_values), rtol=1e-5)
    np.testing.assert_allclose(
        heat(figures["map-B"]), coloured(found.b_values), rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(
        heat(figures["map-A-B"]), coloured(found.difference), rtol=1e-4, atol=1e-6
    )
    of = summarise(found)
    assert f"{of.a:.3f} in A" in words(app)
    assert f"A - B is {of.difference:.3f}" in words(app)
    assert "untrained (seed 0)" in words(app)
    assert set(app.query_params) == set()


def test_the_comparison_follows_the_prompt(open_page: Open, gallery) -> None:
    app = open_page("Compare", prompt=str(gallery[2, True].request.prompt))
    np.testing.assert_allclose(
        heat(charts(app)["map-A"]),
        coloured(score_pairs(gallery[2, True], View()).corrected),
        rtol=1e-5,
    )


def test_two_prompts_are_chosen_and_exchanged(open_page: Open, gallery) -> None:
    app = open_page("Compare")
    app.selectbox(key="b@compare").set_value(gallery[1, True].key).run()
    expected = compare(gallery[0, True], gallery[1, True], View()).difference
    np.testing.assert_allclose(
        heat(charts(app)["map-A-B"]), coloured(expected), rtol=1e-4, atol=1e-6
    )
    assert app.query_params["b"] == gallery[1, True].key
    assert "prompt: " in words(app)
    [exchange] = [b for b in app.button if b.label == "Exchange A and B"]
    exchange.click().run()
    assert app.query_params["a"] == gallery[1, True].key
    np.testing.assert_allclose(
        heat(charts(app)["map-A-B"]), coloured(-expected), rtol=1e-4, atol=1e-6
    )


def test_a_result_is_listed_by_its_prompt_as_it_was_given(open_page: Open, gallery) -> None:
    result = random_result()
    asked = replace(result.request, prompt="Is 😀\nnaïve?")
    Store().put(replace(result, request=asked, key=Store().key(asked, result.identity)))
    options = open_page("Compare").selectbox(key="a@compare").options
    depth = [
        one
        for one in (*requests(), *training_requests(), *vision_requests())
        if one.kind == "depth"
    ]
    assert len(options) == len(depth) + 1
    assert any("random · trained · “Is 😀 naïve?” · token 4 of 4 · K ≤ 8" in o for o in options)


def test_both_matrices_of_the_pair_have_one_range(open_page: Open, gallery) -> None:
    figures = charts(open_page("Compare", block="12", basis="11"))
    for side, trained in (("A", True), ("B", False)):
        stored = np.abs(gallery[0, trained].matrices[0, 11, 10])
        np.testing.assert_allclose(heat(figures[f"matrix-{side}"]), stored, rtol=1e-3)
    assert figures["matrix-A"]["data"][0]["zmax"] == figures["matrix-B"]["data"][0]["zmax"]
    names = [line["name"] for line in figures["spectra"]["data"]]
    assert names[0] == "A, block 12 (Jacobian)"
    assert names[3] == "B, block 11 (basis)"


def test_a_shallower_model_is_matched_by_depth(open_page: Open, gallery) -> None:
    other = random_result(n_blocks=5)
    Store().put(other)
    app = open_page("Compare", a=gallery[0, True].key, b=other.key, k="8", block="20")
    assert "30 against 5, matched by nearest relative depth" in words(app)
    found = compare(gallery[0, True], other, View(8))
    np.testing.assert_allclose(heat(charts(app)["map-B"]), coloured(found.b_values), rtol=1e-5)
    # 20 is not among 1, 8, 15, 23 and 30; nor is 11.
    assert found.a_scores.blocks == (1, 8, 15, 23, 30)
    assert "The selected pair, 20 and 11, is not among the blocks that are matched" in words(app)
    assert "Block 23 in the basis of block 8" in words(app)
    assert "In B: block 4 in the basis of block 2." in words(app)
    # 15 is the nearest to both: two blocks stay two.
    app.number_input(key="block@pair").set_value(14).run()
    app.number_input(key="basis@pair").set_value(15).run()
    assert "Block 15 in the basis of block 8" in words(app)


def test_a_k_that_one_lacks_is_told_with_a_way_out(open_page: Open, gallery) -> None:
    other = random_result()
    Store().put(other)
    keys = {"a": gallery[0, True].key, "b": other.key}
    assert "K = 8" in words(open_page("Compare", **keys))  # where nobody asks for more
    app = open_page("Compare", **keys, k="20")
    assert "B (random) holds 1..8 triplets" in app.error[0].value
    [way_out] = [b for b in app.button if b.label == "Use K = 8 instead"]
    way_out.click().run()
    assert not app.error
    assert app.query_params["k"] == "8"


def test_a_result_that_is_not_here_is_told(open_page: Open) -> None:
    missing = f"{'f' * 32}-k50-v24"
    app = open_page("Compare", a=missing)
    assert "no stored result" in app.warning[0].value
    assert not app.error
    assert "map-A" in charts(app)


def test_a_key_that_is_none_costs_only_itself(open_page: Open) -> None:
    app = open_page("Compare", a="../../etc")
    assert "a" not in app.query_params
    assert not app.error
    assert "map-A" in charts(app)


def test_every_figure_of_both_pages_has_an_alternative_text_and_a_table(open_page: Open) -> None:
    for title, n in (("Layer graph", 2), ("Compare", 6)):
        app = open_page(title)
        found = app.get("plotly_chart")
        assert len(found) == n
        assert all(len(chart.proto.alt) > 80 for chart in found)
        folds = [fold.label for fold in app.main.expander]
        assert folds.count("Table and files") == n
