"""What if, Directions, Spectrum and Perturbation: what is stored shows at once, twins beside it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tiny
from handling import labels, numbers, plain_words, press, settled
from screen import charts, heat, unpacked, words
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

import coupling_core as cc
from coupling_core.analysis.directions import held, track
from coupling_core.analysis.pruning.rankings import NAMES
from coupling_core.base.units import with_minus
from coupling_core.measuring.one_edit import continuations
from explorer.pages.directions.effect import SIZES
from explorer.panels.pruning import SHIPPED

pytestmark = pytest.mark.full
Stored = tuple[cc.WhatIfResult, cc.DepthResult]

# ---- What if


@pytest.fixture
def edits(measured: Any) -> Stored:
    """Edits and coupling of a small model."""
    return measured("what-if"), measured(k=8)


def test_what_is_stored_is_drawn_beside_the_coupling(open_page, edits, link) -> None:
    app = open_page("What if", **link, k="8", edit="replace")
    assert not app.error
    found = heat(charts(app)["effects"])
    expected = cc.effect_maps(edits[0], cc.EffectView()).replace
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[apart], np.log10(expected[apart]), rtol=1e-3, atol=1e-3)
    assert np.isnan(found[~apart]).all()
    assert heat(charts(app)["scores"]).shape == (4, 4)
    assert not [name for name in charts(app) if "pruning" in name]
    (code,) = (one.value for one in app.code if "coupling prune" in one.value)
    assert link["model"] in code


def test_the_chosen_pair_is_told_in_numbers(open_page, edits, link, monkeypatch) -> None:
    found, depth = edits
    asked = {**link, "k": "8", "block": "3", "basis": "1"}
    app = open_page("What if", **asked)
    told = {one.label: one.value for one in app.metric}
    effect = cc.effect_maps(found, cc.EffectView()).interchange[2, 0]
    assert told["Effect"] == f"{effect:.3g} nats"
    scores = cc.score_pairs(depth, cc.View(k=8)).corrected
    assert told["Coupling, 3 in the basis of 1"] == with_minus(f"{scores[2, 0]:.3f}")
    assert told["Coupling, 1 in the basis of 3"] == with_minus(f"{scores[0, 2]:.3f}")
    for name in ("effects", "scores"):
        (square,) = charts(app)[name]["layout"]["shapes"]
        assert (square["x0"], square["y0"]) == (-0.5, 1.5)

    press(app, "What does the model say")
    before, after = continuations(found.request, ("none", "interchange(1,3)"))
    said = [one.value for one in app.code if "coupling prune" not in one.value]
    assert said[-2:] == [before.continuation, after.continuation]
    monkeypatch.setenv("COUPLING_READ_ONLY", "1")
    assert "nor computed here" in words(open_page("What if", **asked))


def test_what_is_no_edit_or_cannot_be_run_is_told(open_page, edits, link) -> None:
    result, _ = edits
    app = open_page("What if", **link, k="8", block="2", basis="2")
    assert any("its own place" in one.value for one in app.info)
    divergence = result.divergence.copy()
    divergence[result.edits.index("interchange(1,2)")] = np.nan
    refused = {"interchange(1,2)": "block 2 takes more than its state"}
    cc.Store().put(replace(result, divergence=divergence, refused=refused))
    app = open_page("What if", **link, k="8", block="2", basis="1")
    assert any("takes more than its state" in one.value for one in app.info)
    assert np.isnan(heat(charts(app)["effects"])[0, 1])


def test_correlations_by_training_step_and_the_plan_that_ships_are_drawn(open_page) -> None:
    app = open_page("What if", block="12", basis="13")
    found = charts(app)
    lines = [line["name"] for line in found["effect-mini-64"]["data"]]
    assert lines == ["rho", "distance alone", "given distance"]
    assert {"coupling-against-effect-SmolLM2-135M-Instruct", "exchange"} <= set(found)
    plan = cc.Pruning.read(SHIPPED)
    drawn = {line.get("name") for line in found[f"pruning-{plan.model}"]["data"]}
    assert {NAMES[by] for by in plan.rankings} <= drawn
    point = plan.point("kl", 4)
    assert f"{plan.megabytes(point.blocks):.1f}" in words(app)
    assert f"{point.left_out.loss:.3f}" in words(app)


def test_the_plan_that_ships_has_every_ranking_and_twenty_random_draws() -> None:
    plan = cc.Pruning.read(SHIPPED)
    assert {point.removed for point in plan.curve} == set(range(1, 9))
    assert set(plan.rankings) == {"coupling", "influence", "angle", "kl", "last", "random"}
    assert len(plan.judged_on) == 40
    assert not set(plan.ranked_on) & set(plan.judged_on)
    assert len([cut for cut in plan.cuts if cut.by == "random"]) == 8 * 20
    assert plan.whole.loss == pytest.approx(sum(plan.own_loss) / sum(plan.predicted))


# ---- Directions


@pytest.fixture
def stored(measured: Any) -> cc.DirectionsResult:
    return measured("directions")


def curves(app: AppTest, figure: str) -> dict[str, np.ndarray]:
    lines = charts(app)[figure]["data"]
    return {line["name"]: numbers(line["y"]) for line in lines if "bdata" in line["y"]}


def test_a_twin_that_is_measured_here_is_told_beside_the_model(open_page, link, measured) -> None:
    measured("depth")
    app = settled(press(open_page("Depth", **link), "Measure the untrained twin too"))
    assert "(untrained model 0.0" in words(app)
    assert "Measure the untrained twin" not in [fold.label for fold in app.expander]


def test_a_direction_is_chosen_and_names_no_token_at_chance(open_page, stored, link) -> None:
    app = open_page("Directions", **link, block="2", component="3", readout="reads")
    beyond = stored.beyond_chance[1, 1][: int(stored.rank[1])].astype(bool)
    named = app.dataframe[0].value["towards"] != "no more than chance"
    assert list(named) == list(beyond)
    assert f"{beyond.sum()} of {stored.count} are more peaked" in plain_words(app)
    gain = curves(app, "gain-over-depth")["direction 3"]
    np.testing.assert_allclose(gain, track(stored, 2, 3), rtol=1e-6)
    app.number_input(key="component@directions").set_value(1).run()
    assert "component" not in app.query_params
    kept = curves(app, "held-over-depth")["written"]
    np.testing.assert_allclose(kept, held(stored, stored.basis(2, "u")[:, 0], "u"), rtol=1e-6)
    app = open_page("Directions", **link, block="99", component="99")
    last = f"Direction {int(stored.rank[-1])} of block {stored.n_blocks}"
    assert last in plain_words(app)
    assert "Add it to the state" not in labels(app)  # behind which is the final norm alone


@pytest.mark.real
def test_a_direction_is_added_and_told_beside_others(open_page, stored, link, measured) -> None:
    measured("directions", untrained=0)
    app = press(open_page("Directions", **link, block="1"), "Add it to the state")
    assert not app.error
    at_first = {one.label: one.value for one in app.metric}
    assert {"Random directions, median", "Untrained twin, its own"} <= set(at_first)
    app.select_slider(key="push@directions").set_value(SIZES[-1]).run()
    later = {one.label: one.value for one in app.metric}
    effect = "Effect, KL, nats"
    assert float(later[effect]) != float(at_first[effect])


def test_what_blocks_have_in_common_is_drawn_beside_chance(open_page, stored, link) -> None:
    app = open_page("Directions", **link, **{"from": "2", "to": "4"})
    found = cc.shared_of(stored, cc.DirectionsView((2, 3, 4)))
    lines = curves(app, "shared")
    np.testing.assert_allclose(lines["shared direction"], found.share, rtol=1e-6)
    np.testing.assert_allclose(lines["by chance, at most"], found.chance)
    app.number_input(key="first_block@directions").set_value(1).run()
    assert "Blocks 1 to 4 write" in plain_words(app)


@pytest.mark.real
def test_shared_directions_are_read_out_and_taken_away(open_page, tmp_path) -> None:
    """Of blocks that are copies of one another; independent ones share nothing to be tried."""
    link = {"model": str(tiny.folder(tmp_path / "tiny")), "prompt": "The cat sat"}
    model = AutoModelForCausalLM.from_pretrained(link["model"])
    for block in model.model.layers[1:]:
        block.load_state_dict(model.model.layers[0].state_dict())
    model.save_pretrained(link["model"])
    result = cc.measure(cc.Request(**link, kind="directions"), cc.Store())
    assert cc.shared_of(result, cc.DirectionsView((1, 2, 3))).count >= 1
    app = press(open_page("Directions", **link, **{"from": "1"}), "Read them out")
    assert not app.error
    told = {one.label for one in app.metric}
    assert {"Effect of taking them away, KL, nats", "Of the states they hold"} <= told


# ---- Spectrum and Perturbation


def names(app: AppTest, figure: str) -> list[str]:
    return [line["name"] for line in charts(app)[figure]["data"]]


def untrained(app: AppTest, figures: tuple[str, ...]) -> list[bool]:
    """Of each figure, whether the twin is drawn in it."""
    return [any("untrained" in line for line in names(app, figure)) for figure in figures]


def points(app: AppTest) -> list:
    """What each eigenvalue carries along: its block first."""
    found = charts(app)["eigenvalues"]["data"]
    sent = [one["customdata"] for one in found if "customdata" in one]
    return [row for rows in sent for row in (rows if isinstance(rows, list) else unpacked(rows))]


def test_eigenvalues_are_shown_of_all_blocks_or_of_one(open_page, link, measured) -> None:
    result = measured("spectrum")
    app = open_page("Spectrum", **link)
    assert len(points(app)) == result.n_blocks * result.width
    assert not [label for label in labels(app) if "directions of" in label]
    app = open_page("Spectrum", **link, only="2")
    assert {row[0] for row in points(app)} == {2}
    app.slider[0].set_value(3).run()
    assert {row[0] for row in points(app)} == {3}
    (way,) = [label for label in labels(app) if "directions of block 3" in label]
    app = press(app, way)
    assert app.title[0].value == "What do a block's directions say?"
    assert app.query_params["block"] == "3"


def test_a_size_of_noise_is_chosen_by_a_link_and_by_the_slider(open_page, link, measured) -> None:
    measured("perturbation")
    app = open_page("Perturbation", **link, noise="0.35")
    assert "block 4, first order" in names(app, "by-size")
    assert "0.3 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    app.select_slider(key="noise@sidebar").set_value(1.0).run()
    assert "1 of the embedding" in charts(app)["by-depth"]["layout"]["meta"]["alt"]
    assert app.query_params["noise"] == "1"


@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        ("spectrum", ("products", "maps")),
        ("perturbation", ("by-size", "radius", "by-depth")),
    ],
)
def test_a_twin_is_drawn_or_offered(open_page, link, measured, kind, figures) -> None:
    measured(kind)
    app = open_page(kind.capitalize(), **link)
    assert not any(untrained(app, figures))
    assert "Measure the untrained twin" in [fold.label for fold in app.expander]
    measured(kind, untrained=0)
    assert all(untrained(open_page(kind.capitalize(), **link), figures))
