"""The What if page: what is stored shows at once, the map of effects beside that of coupling."""

from dataclasses import replace

import numpy as np
import tiny
from screen import charts, heat, words

from coupling_core import EffectView, Request, Store, View, effect_maps, measure, score_pairs
from coupling_core.measuring.one_edit import continuations


def test_a_stored_result_is_drawn_beside_the_coupling_of_its_blocks(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    result = measure(Request("The cat sat", model=folder, kind="what-if"), Store())
    measure(Request("The cat sat", model=folder, k=8), Store())
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", edit="replace")
    assert not app.exception
    assert not app.error
    found = heat(charts(app)["effects"])
    expected = effect_maps(result, EffectView()).replace
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[apart], np.log10(expected[apart]), rtol=1e-3, atol=1e-3)
    assert np.isnan(found[~apart]).all()
    assert heat(charts(app)["scores"]).shape == (4, 4)
    assert any("can do without block" in one.value for one in app.markdown)
    lines = charts(app)["effects-by-block"]["data"]
    assert [line["name"] for line in lines][:2] == ["skip", "repeat"]


def test_the_chosen_pair_is_told_in_numbers_and_outlined_on_both_maps(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    result = measure(Request("The cat sat", model=folder, kind="what-if"), Store())
    depth = measure(Request("The cat sat", model=folder, k=8), Store())
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", block="3", basis="1")
    assert not app.exception
    told = {one.label: one.value for one in app.metric}
    effect = effect_maps(result, EffectView()).interchange[2, 0]
    assert told["Effect"] == f"{effect:.3g} nats"
    scores = score_pairs(depth, View(k=8)).corrected
    assert told["Coupling, 3 in the basis of 1"] == f"{scores[2, 0]:.3f}"
    assert told["Coupling, 1 in the basis of 3"] == f"{scores[0, 2]:.3f}"
    for name in ("effects", "scores"):
        (square,) = charts(app)[name]["layout"]["shapes"]
        assert (square["x0"], square["y0"]) == (-0.5, 1.5)
    assert "Blocks 1 and 3 interchanged" in words(app)
    assert any("too few to be correlated" in one.value for one in app.info)


def test_what_the_model_then_says_is_computed_when_that_is_asked_for(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    request = Request("The cat sat", model=folder, kind="what-if")
    measure(request, Store())
    measure(Request("The cat sat", model=folder, k=8), Store())
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", block="3", basis="1")
    (button,) = [one for one in app.button if "What does the model say" in one.label]
    button.click().run()
    before, after = continuations(request, ("none", "interchange(1,3)"))
    said = [one.value for one in app.code if "coupling prune" not in one.value]
    assert said[-2:] == [before.continuation, after.continuation]


def test_where_nothing_is_computed_the_page_says_so(open_page, tmp_path, monkeypatch):
    folder = str(tiny.folder(tmp_path / "tiny"))
    measure(Request("The cat sat", model=folder, kind="what-if"), Store())
    measure(Request("The cat sat", model=folder, k=8), Store())
    monkeypatch.setenv("COUPLING_READ_ONLY", "1")
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", block="3", basis="1")
    assert not app.exception
    assert "nor computed here" in words(app)


def test_a_block_in_its_own_place_and_one_that_cannot_be_run_are_told(open_page, tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    request = Request("The cat sat", model=folder, kind="what-if")
    result = measure(request, Store())
    measure(Request("The cat sat", model=folder, k=8), Store())
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", block="2", basis="2")
    assert any("in its own place" in one.value for one in app.info)
    divergence = result.divergence.copy()
    divergence[result.edits.index("interchange(1,2)")] = np.nan
    refused = {"interchange(1,2)": "block 2 takes more than its state"}
    Store().put(replace(result, divergence=divergence, refused=refused))
    app = open_page("What if", model=folder, prompt="The cat sat", k="8", block="2", basis="1")
    assert any("takes more than its state" in one.value for one in app.info)
    assert np.isnan(heat(charts(app)["effects"])[0, 1])


def test_correlations_by_training_step_are_drawn(open_page):
    app = open_page("What if", block="12", basis="13")
    assert not app.exception
    found = charts(app)
    lines = [line["name"] for line in found["effect-mini-64"]["data"]]
    assert lines == ["rho", "distance alone", "given distance"]
    assert {"coupling-against-effect-SmolLM2-135M-Instruct", "exchange"} <= set(found)
    assert "nearness of the two alone" in words(app)
