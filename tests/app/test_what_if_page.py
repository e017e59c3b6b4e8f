"""The What if page: what is stored shows at once, the map of effects beside that of coupling."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import press
from screen import Open, charts, heat, words

from coupling_core import (
    DepthResult,
    EffectView,
    Pruning,
    Request,
    Store,
    View,
    WhatIfResult,
    effect_maps,
    measure,
    score_pairs,
)
from coupling_core.analysis.pruning.rankings import NAMES
from coupling_core.measuring.one_edit import continuations
from explorer.panels.pruning import SHIPPED

pytestmark = pytest.mark.full

PROMPT = "The cat sat"


@pytest.fixture
def stored(tmp_path: Path) -> tuple[WhatIfResult, DepthResult]:
    """Edits and coupling of a small model."""
    folder = str(tiny.folder(tmp_path / "tiny"))
    edits = measure(Request(PROMPT, model=folder, kind="what-if"), Store())
    return edits, measure(Request(PROMPT, model=folder, k=8), Store())


@pytest.fixture
def link(stored: tuple[WhatIfResult, DepthResult]) -> dict[str, str]:
    return {"model": stored[0].request.model, "prompt": PROMPT, "k": "8"}


def test_a_stored_result_is_drawn_beside_the_coupling_of_its_blocks(
    open_page: Open, stored: tuple[WhatIfResult, DepthResult], link: dict[str, str]
) -> None:
    app = open_page("What if", **link, edit="replace")
    assert not app.error
    found = heat(charts(app)["effects"])
    expected = effect_maps(stored[0], EffectView()).replace
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[apart], np.log10(expected[apart]), rtol=1e-3, atol=1e-3)
    assert np.isnan(found[~apart]).all()
    assert heat(charts(app)["scores"]).shape == (4, 4)
    lines = charts(app)["effects-by-block"]["data"]
    assert [line["name"] for line in lines][:2] == ["skip", "repeat"]
    assert not [name for name in charts(app) if "pruning" in name]
    (code,) = (one.value for one in app.code if "coupling prune" in one.value)
    assert link["model"] in code


def test_the_chosen_pair_is_told_in_numbers_and_outlined_on_both_maps(
    open_page: Open, stored: tuple[WhatIfResult, DepthResult], link: dict[str, str]
) -> None:
    edits, depth = stored
    app = open_page("What if", **link, block="3", basis="1")
    told = {one.label: one.value for one in app.metric}
    effect = effect_maps(edits, EffectView()).interchange[2, 0]
    assert told["Effect"] == f"{effect:.3g} nats"
    scores = score_pairs(depth, View(k=8)).corrected
    assert told["Coupling, 3 in the basis of 1"] == f"{scores[2, 0]:.3f}"
    assert told["Coupling, 1 in the basis of 3"] == f"{scores[0, 2]:.3f}"
    for name in ("effects", "scores"):
        (square,) = charts(app)[name]["layout"]["shapes"]
        assert (square["x0"], square["y0"]) == (-0.5, 1.5)


def test_what_the_model_then_says_is_computed_when_that_is_asked_for(
    open_page: Open,
    stored: tuple[WhatIfResult, DepthResult],
    link: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = open_page("What if", **link, block="3", basis="1")
    press(app, "What does the model say")
    before, after = continuations(stored[0].request, ("none", "interchange(1,3)"))
    said = [one.value for one in app.code if "coupling prune" not in one.value]
    assert said[-2:] == [before.continuation, after.continuation]
    monkeypatch.setenv("COUPLING_READ_ONLY", "1")
    assert "nor computed here" in words(open_page("What if", **link, block="3", basis="1"))


def test_a_block_in_its_own_place_and_one_that_cannot_be_run_are_told(
    open_page: Open, stored: tuple[WhatIfResult, DepthResult], link: dict[str, str]
) -> None:
    result, _ = stored
    app = open_page("What if", **link, block="2", basis="2")
    assert any("its own place" in one.value for one in app.info)
    divergence = result.divergence.copy()
    divergence[result.edits.index("interchange(1,2)")] = np.nan
    refused = {"interchange(1,2)": "block 2 takes more than its state"}
    Store().put(replace(result, divergence=divergence, refused=refused))
    app = open_page("What if", **link, block="2", basis="1")
    assert any("takes more than its state" in one.value for one in app.info)
    assert np.isnan(heat(charts(app)["effects"])[0, 1])


def test_correlations_by_training_step_and_the_plan_that_ships_are_drawn(open_page: Open) -> None:
    app = open_page("What if", block="12", basis="13")
    found = charts(app)
    lines = [line["name"] for line in found["effect-mini-64"]["data"]]
    assert lines == ["rho", "distance alone", "given distance"]
    assert {"coupling-against-effect-SmolLM2-135M-Instruct", "exchange"} <= set(found)
    plan = Pruning.read(SHIPPED)
    drawn = {line.get("name") for line in found[f"pruning-{plan.model}"]["data"]}
    assert {NAMES[by] for by in plan.rankings} <= drawn
    point = plan.point("kl", 4)
    assert f"{plan.megabytes(point.blocks):.1f}" in words(app)
    assert f"{point.left_out.loss:.3f}" in words(app)


def test_the_plan_that_ships_has_every_ranking_and_twenty_random_draws() -> None:
    plan = Pruning.read(SHIPPED)
    assert {point.removed for point in plan.curve} == set(range(1, 9))
    assert set(plan.rankings) == {"coupling", "influence", "angle", "kl", "last", "random"}
    assert len(plan.judged_on) == 40
    assert not set(plan.ranked_on) & set(plan.judged_on)
    assert len([cut for cut in plan.cuts if cut.by == "random"]) == 8 * 20
    assert plan.whole.loss == pytest.approx(sum(plan.own_loss) / sum(plan.predicted))
