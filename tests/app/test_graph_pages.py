"""Layer graph and Compare: what they show is what the core says, and their links carry it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import random_result
from handling import numbers, press, trace
from screen import PAGES, Open, charts, coloured, heat, words

from coupling_core import View, compare, layer_graph, locality, score_pairs, summarise
from coupling_core.experiments.gallery import requests, training_requests, vision_requests
from coupling_core.store.disk import Store
from explorer.asking.queue import queue
from explorer.session.plain_text import with_minus

pytestmark = pytest.mark.full


def edges(app: Any) -> set[tuple[int, int]]:
    """The edges that can be clicked."""
    at = trace(charts(app)["graph"], "edges").get("customdata", [])
    if isinstance(at, dict):
        at = numbers(at).reshape(-1, 2)
    return {(int(a), int(b)) for a, b in at}


# ---- Layer graph


def test_the_graph_has_the_edges_of_the_result_at_the_threshold(open_page: Open, gallery) -> None:
    app = open_page("Layer graph")
    assert edges(app) == set(layer_graph(gallery[0, True], View()).edges)
    curve = charts(app)["locality"]["data"][-1]
    np.testing.assert_allclose(numbers(curve["y"]), locality(gallery[0, True], View()).mean)
    app.slider(key="threshold@graph").set_value(0.2).run()
    graph = layer_graph(gallery[0, True], View(), threshold=0.2)
    assert edges(app) == set(graph.edges)
    assert f"{graph.number_of_edges()} of 435 pairs are edges, at 0.2" in words(app)
    assert app.query_params["threshold"] == "0.2"


def test_its_switches_go_into_the_link_and_start_no_job(open_page: Open, gallery) -> None:
    app = open_page("Layer graph")
    app.segmented_control(key="layout@graph").set_value("circle").run()
    app.segmented_control(key="node_color@graph").set_value("depth").run()
    app.segmented_control(key="raw@graph").set_value(True).run()
    nodes = trace(charts(app)["graph"], "blocks")
    np.testing.assert_allclose(np.hypot(numbers(nodes["x"]), numbers(nodes["y"])), 1, rtol=1e-5)
    assert list(numbers(nodes["marker"]["color"])) == list(range(1, 31))
    assert edges(app) == set(layer_graph(gallery[0, True], View(), corrected=False).edges)
    app.segmented_control(key="raw@graph").set_value(False).run()
    app.segmented_control(key="untrained@graph").set_value(True).run()
    assert edges(app) == set()
    assert set(app.query_params) == {"layout", "nodes", "untrained"}
    assert not queue().active()


def test_the_selected_pair_is_told_in_both_directions_here_and_on_depth(
    open_page: Open, gallery
) -> None:
    app = open_page("Layer graph", block="30", basis="11", threshold="0")
    found = score_pairs(gallery[0, True], View()).corrected
    for cell in ((29, 10), (10, 29)):
        assert with_minus(f"chance-corrected **{found[cell]:.3f}**") in words(app)
    assert trace(charts(app)["graph"], "selected: 30 and 11")
    app.text_input(key="blocks@sidebar").set_value("9-16").run()
    assert "of 28 pairs" in words(app)
    assert len(numbers(trace(charts(app)["graph"], "blocks")["x"])) == 8
    app.text_input(key="blocks@sidebar").set_value("").run()
    app.number_input(key="block@pair").set_value(8).run()
    app.number_input(key="basis@pair").set_value(30).run()
    app.switch_page(PAGES["Depth"]).run()
    assert "Block 8 in the basis of block 30" in words(app)


# ---- Compare


def test_a_trained_model_and_its_twin_are_compared_at_once(open_page: Open, gallery) -> None:
    app = open_page("Compare")
    found = compare(gallery[0, True], gallery[0, False], View())
    figures = charts(app)
    for name, values in (
        ("map-A", found.a_values),
        ("map-B", found.b_values),
        ("map-A-B", found.difference),
    ):
        np.testing.assert_allclose(heat(figures[name]), coloured(values), rtol=1e-4, atol=1e-6)
    first, second = figures["map-A-B"]["layout"]["title"]["text"].split("<br>")
    assert first.startswith("A: SmolLM2-135M-Instruct, K = 50")
    assert second.startswith("B: SmolLM2-135M-Instruct, untrained (seed 0), K = 50")
    of = summarise(found)
    assert f"{of.a:.3f} in A" in words(app)
    assert f"A - B is {of.difference:.3f}" in words(app)
    for side, trained in (("A", True), ("B", False)):
        stored = np.abs(gallery[0, trained].matrices[0, 11, 10])
        np.testing.assert_allclose(heat(figures[f"matrix-{side}"]), stored, rtol=1e-3)
    assert figures["matrix-A"]["data"][0]["zmax"] == figures["matrix-B"]["data"][0]["zmax"]
    names = [line["name"] for line in figures["spectra"]["data"]]
    assert (names[0], names[3]) == ("A, block 12 (Jacobian)", "B, block 11 (basis)")
    assert set(app.query_params) == set()


def test_two_prompts_are_chosen_and_exchanged(open_page: Open, gallery) -> None:
    app = open_page("Compare")
    app.selectbox(key="b@compare").set_value(gallery[1, True].key).run()
    expected = compare(gallery[0, True], gallery[1, True], View()).difference
    drawn = heat(charts(app)["map-A-B"])
    np.testing.assert_allclose(drawn, coloured(expected), rtol=1e-4, atol=1e-6)
    assert app.query_params["b"] == gallery[1, True].key
    press(app, "Exchange A and B")
    assert app.query_params["a"] == gallery[1, True].key
    drawn = heat(charts(app)["map-A-B"])
    np.testing.assert_allclose(drawn, coloured(-expected), rtol=1e-4, atol=1e-6)


def test_a_result_is_listed_by_its_prompt_as_it_was_given(open_page: Open) -> None:
    result = random_result()
    asked = replace(result.request, prompt="Is 😀\nnaïve?")
    Store().put(replace(result, request=asked, key=Store().key(asked, result.identity)))
    options = open_page("Compare").selectbox(key="a@compare").options
    shipped = (*requests(), *training_requests(), *vision_requests())
    assert len(options) == len([one for one in shipped if one.kind == "depth"]) + 1
    assert any("random · trained · “Is 😀 naïve?” · token 4 of 4 · K ≤ 8" in o for o in options)


def test_a_shallower_model_is_matched_by_depth(open_page: Open, gallery) -> None:
    other = random_result(n_blocks=5)
    Store().put(other)
    app = open_page("Compare", a=gallery[0, True].key, b=other.key, k="8", block="20")
    found = compare(gallery[0, True], other, View(8))
    np.testing.assert_allclose(heat(charts(app)["map-B"]), coloured(found.b_values), rtol=1e-5)
    # 20 is not among 1, 8, 15, 23 and 30; nor is 11.
    assert found.a_scores.blocks == (1, 8, 15, 23, 30)
    assert "Block 23 in the basis of block 8" in words(app)
    assert "block 4 in the basis of block 2" in words(app)
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
    assert "1..8" in app.error[0].value
    press(app, "Use K = 8 instead")
    assert not app.error
    assert app.query_params["k"] == "8"
