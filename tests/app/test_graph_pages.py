"""Layer graph and Compare: what they show is what the core says, and their links carry it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import random_result
from handling import boxes, numbers, press, settled, trace
from screen import charts, coloured, heat, words

import coupling_core as cc
from coupling_core.base.units import with_minus
from coupling_core.experiments.gallery import every_request
from explorer.asking.queue import queue

pytestmark = pytest.mark.full


def edges(app: Any) -> set[tuple[int, int]]:
    """The edges that can be clicked."""
    at = trace(charts(app)["graph"], "edges").get("customdata", [])
    if isinstance(at, dict):
        at = numbers(at).reshape(-1, 2)
    return {(int(a), int(b)) for a, b in at}


def test_the_graph_has_the_edges_of_the_result_as_its_switches_say(open_page, gallery) -> None:
    app, result = open_page("Layer graph"), gallery[0, True]
    scores = cc.score_pairs(result, cc.View())
    assert edges(app) == set(cc.layer_graph(scores).edges)
    curve = charts(app)["locality"]["data"][-1]
    np.testing.assert_allclose(numbers(curve["y"]), cc.locality(scores).mean)
    app.slider(key="threshold@graph").set_value(0.2).run()
    graph = cc.layer_graph(scores, threshold=0.2)
    assert edges(app) == set(graph.edges)
    assert f"{graph.number_of_edges()} of 435 pairs are edges, at 0.2" in words(app)
    app.segmented_control(key="layout@graph").set_value("circle").run()
    app.segmented_control(key="node_color@graph").set_value("depth").run()
    app.segmented_control(key="raw@graph").set_value(True).run()
    nodes = trace(charts(app)["graph"], "blocks")
    np.testing.assert_allclose(np.hypot(numbers(nodes["x"]), numbers(nodes["y"])), 1, rtol=1e-5)
    assert list(numbers(nodes["marker"]["color"])) == list(range(1, 31))
    graph = cc.layer_graph(scores, threshold=0.2, corrected=False)
    assert edges(app) == set(graph.edges)
    app.segmented_control(key="raw@graph").set_value(False).run()
    app.segmented_control(key="untrained@graph").set_value(True).run()
    assert edges(app) == set()
    assert set(app.query_params) == {"threshold", "layout", "nodes", "untrained"}
    assert not queue().active()


def test_the_selected_pair_is_told_in_both_directions(open_page, gallery) -> None:
    app = open_page("Layer graph", block="30", basis="11", threshold="0")
    found = cc.score_pairs(gallery[0, True], cc.View()).corrected
    for cell in ((29, 10), (10, 29)):
        assert with_minus(f"chance-corrected **{found[cell]:.3f}**") in words(app)
    assert trace(charts(app)["graph"], "selected: 30 and 11")
    app.text_input(key="blocks@sidebar").set_value("9-16").run()
    assert "of 28 pairs" in words(app)
    assert len(numbers(trace(charts(app)["graph"], "blocks")["x"])) == 8


def expect_compared(app: Any, found: Any) -> None:
    """Both maps and their difference."""
    maps = {"map-A": found.a_values, "map-B": found.b_values, "map-A-B": found.difference}
    for name, values in maps.items():
        drawn = heat(charts(app)[name])
        np.testing.assert_allclose(drawn, coloured(values), rtol=1e-4, atol=1e-6)


def test_two_prompts_are_chosen_by_their_texts_and_exchanged(open_page, gallery) -> None:
    result = random_result()
    asked = replace(result.request, prompt="Is 😀\nnaïve?")
    cc.Store().put(replace(result, request=asked, key=cc.Store().key(asked, result.identity)))
    app = open_page("Compare")
    options = app.selectbox(key="a@compare").options
    assert len(options) == len([one for one in every_request() if one.kind == "depth"]) + 1
    assert any("random · trained · “Is 😀 naïve?” · token 4 of 4 · K ≤ 8" in o for o in options)
    one, other = gallery[0, True], gallery[1, True]
    app.selectbox(key="b@compare").set_value(other.key).run()
    expect_compared(app, cc.compare(one, other, cc.View()))
    assert app.query_params["b"] == other.key
    press(app, "Exchange A and B")
    assert app.query_params["a"] == other.key
    expect_compared(app, cc.compare(other, one, cc.View()))


def test_a_shallower_model_is_matched_by_depth_at_a_k_that_both_have(open_page, gallery) -> None:
    other = random_result(n_blocks=5)
    cc.Store().put(other)
    keys = {"a": gallery[0, True].key, "b": other.key}
    assert "K = 8" in words(open_page("Compare", **keys))  # where nobody asks for more
    app = open_page("Compare", **keys, k="20", block="20")
    assert "1..8" in app.error[0].value
    press(app, "Use K = 8 instead")
    assert not app.error
    assert app.query_params["k"] == "8"
    found = cc.compare(gallery[0, True], other, cc.View(8))
    np.testing.assert_allclose(heat(charts(app)["map-B"]), coloured(found.b_values), rtol=1e-5)
    # 20 is not among 1, 8, 15, 23 and 30; nor is 11.
    assert found.a_scores.blocks == (1, 8, 15, 23, 30)
    assert "Block 23 in the basis of block 8" in words(app)
    assert "block 4 in the basis of block 2" in words(app)
    # 15 is the nearest to both: two blocks stay two.
    app.number_input(key="block@pair").set_value(14).run()
    app.number_input(key="basis@pair").set_value(15).run()
    assert "Block 15 in the basis of block 8" in words(app)


# ---- directions of two models


@pytest.fixture
def pair(measured: Any) -> list[cc.DirectionsResult]:
    return [measured("directions", untrained=seed) for seed in (None, 1)]


@pytest.fixture
def both(pair: list[cc.DirectionsResult]) -> dict[str, str]:
    """A link to both."""
    return {"compared": "directions", "a": pair[0].key, "b": pair[1].key}


def test_how_far_they_are_turned_is_told_and_drawn(open_page, pair, both) -> None:
    app = open_page("Compare", **both, leading="3")
    assert not app.error
    assert cc.cross(*pair, 3).verdict in words(app)
    assert "angles" in charts(app)
    app.slider(key="leading@compare").set_value(5).run()
    assert cc.cross(*pair, 5).verdict in words(app)


def test_a_lower_precision_of_a_is_measured_and_becomes_b(open_page, pair, both) -> None:
    app = open_page("Compare", **both)
    app.button(key="form-bfloat16@compare").click().run()
    app = settled(press(app, "Measure A in bfloat16"))
    lower = cc.measure(replace(pair[0].request, dtype="bfloat16"), cc.Store())
    assert app.query_params["b"] == lower.key
    assert cc.cross(pair[0], lower).verdict in words(app)


def test_without_a_choice_a_model_is_held_against_its_twin(open_page) -> None:
    app = open_page("Compare", compared="directions")
    assert not boxes(app)
    assert "angles" in charts(app)


@pytest.mark.real
def test_jacobians_are_taken_in_each_other_s_bases(open_page, both) -> None:
    app = press(open_page("Compare", **both), "Take the Jacobians of both")
    assert not app.error
    told = {one.label: float(one.value.replace("\u2212", "-")) for one in app.metric}
    assert {"A in the bases of B, same block", "B in A, other blocks"} <= set(told)
    assert np.isfinite(list(told.values())).all()
    assert "crossed" in charts(app)


def test_what_is_of_the_other_kind_is_told_and_not_shown(open_page, pair, both) -> None:
    app = open_page("Compare", **both | {"compared": "scores"})
    for side, warning in zip("ab", app.warning, strict=True):
        assert both[side] in warning.value
    assert cc.cross(*pair).verdict not in words(app)
    assert "map-A" in charts(app)
