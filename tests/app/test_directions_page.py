"""The Directions page: what is stored shows at once, chance is grey, and a direction is tried."""

from base64 import b64decode

import numpy as np
import pytest
import tiny
from screen import charts, words
from transformers import AutoModelForCausalLM

from coupling_core import DirectionsView, Request, Store, measure, shared_of
from coupling_core.analysis.directions import counts, held, track
from explorer.pages.directions.effect import SIZES


@pytest.fixture
def stored(tmp_path):
    folder = str(tiny.folder(tmp_path / "tiny"))
    asked = Request("The cat sat", model=folder, kind="directions")
    return folder, measure(asked, Store())


@pytest.fixture
def twin(stored):
    folder, _ = stored
    asked = Request("The cat sat", model=folder, kind="directions", untrained=0)
    return measure(asked, Store())


def curves(figure):
    return {
        line["name"]: np.frombuffer(b64decode(line["y"]["bdata"]), line["y"]["dtype"])
        for line in figure["data"]
        if "bdata" in line["y"]
    }


def listed(app):
    return app.dataframe[0].value


def test_what_is_stored_shows_at_once_with_its_twin_where_that_is_there(open_page, stored, twin):
    folder, result = stored
    app = open_page("Directions", model=folder, prompt="The cat sat")
    assert not app.exception
    assert not app.error
    found = curves(charts(app)["readouts"])
    np.testing.assert_array_equal(found["what it writes"], counts(result)[0])
    np.testing.assert_array_equal(found["what it writes, untrained"], counts(twin)[0])
    assert {"readouts", "gain-over-depth", "held-over-depth"} <= set(charts(app))


def test_the_twin_is_offered_where_it_is_not_there(open_page, stored):
    folder, _ = stored
    app = open_page("Directions", model=folder, prompt="The cat sat")
    assert "what it writes, untrained" not in curves(charts(app)["readouts"])
    assert any("twin is not measured" in fold.label for fold in app.expander)


def test_what_is_no_more_than_chance_names_no_token(open_page, stored):
    folder, result = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", block="2", readout="reads")
    beyond = result.beyond_chance[1, 1][: int(result.rank[1])]
    rows = listed(app)
    assert len(rows) == len(beyond)
    for told, (_, row) in zip(beyond, rows.iterrows(), strict=True):
        assert (row["towards"] == "no more than chance") is not bool(told)
    assert f"{int(result.beyond_chance[1, 1].sum())} of {result.count} are more peaked" in words(
        app
    )


def test_a_direction_is_chosen_by_a_link_and_by_its_number(open_page, stored):
    folder, result = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", block="2", component="3")
    gain = curves(charts(app)["gain-over-depth"])["direction 3"]
    np.testing.assert_allclose(gain, track(result, 2, 3), rtol=1e-6)
    app.number_input(key="component@directions").set_value(1).run()
    assert not app.exception
    assert app.query_params.get("component") in (None, ["1"])
    kept = curves(charts(app)["held-over-depth"])["written"]
    np.testing.assert_allclose(kept, held(result, result.basis(2, "u")[:, 0], "u"), rtol=1e-6)


def test_a_direction_past_the_last_is_the_last(open_page, stored):
    folder, result = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", block="99", component="99")
    assert not app.exception
    assert f"Direction {int(result.rank[-1])} of block {result.n_blocks}" in words(app)


@pytest.mark.real
def test_a_direction_is_added_and_told_beside_random_ones(open_page, stored):
    folder, _ = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", block="1")
    (add,) = [one for one in app.button if one.label == "Add it to the state"]
    add.click().run()
    assert not app.exception
    assert not app.error
    at_first = {one.label: one.value for one in app.metric}
    assert {"Effect, KL, nats", "Random directions, median"} <= set(at_first)
    app.select_slider(key="push@directions").set_value(SIZES[-1]).run()
    later = {one.label: one.value for one in app.metric}
    assert float(later["Effect, KL, nats"]) != float(at_first["Effect, KL, nats"])
    assert "random directions" in words(app)


def test_nothing_is_added_behind_the_final_norm(open_page, stored):
    folder, result = stored
    last = str(result.n_blocks)
    app = open_page("Directions", model=folder, prompt="The cat sat", block=last)
    assert "behind it" in app.info[-1].value
    assert not [one for one in app.button if one.label == "Add it to the state"]


def test_what_blocks_have_in_common_is_told_beside_chance(open_page, stored):
    folder, result = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", **{"from": "2", "to": "4"})
    assert not app.exception
    found = shared_of(result, DirectionsView((2, 3, 4)))
    lines = curves(charts(app)["shared"])
    np.testing.assert_allclose(lines["shared direction"], found.share, rtol=1e-6)
    np.testing.assert_allclose(lines["by chance, at most"], found.chance)
    assert "Blocks 2 to 4 write" in words(app)
    app.number_input(key="first_block@directions").set_value(1).run()
    assert not app.exception
    assert "Blocks 1 to 4 write" in words(app)


def test_blocks_that_are_not_there_are_the_nearest(open_page, stored):
    folder, _ = stored
    app = open_page("Directions", model=folder, prompt="The cat sat")
    assert not app.exception
    assert "Blocks 3 to 4 write" in words(app)


@pytest.mark.real
def test_shared_directions_are_read_out_and_taken_away(open_page, tmp_path):
    """Of blocks that are copies of one another; independent ones share nothing to be tried."""
    folder = tiny.folder(tmp_path / "tiny")
    model = AutoModelForCausalLM.from_pretrained(folder)
    for block in model.model.layers[1:]:
        block.load_state_dict(model.model.layers[0].state_dict())
    model.save_pretrained(folder)
    asked = Request("The cat sat", model=str(folder), kind="directions")
    result = measure(asked, Store())
    assert shared_of(result, DirectionsView((1, 2, 3))).count >= 1
    app = open_page("Directions", model=str(folder), prompt="The cat sat", **{"from": "1"})
    (add,) = [one for one in app.button if one.label.startswith("Read them out")]
    add.click().run()
    assert not app.exception
    assert not app.error
    told = {one.label: one.value for one in app.metric}
    assert {"Effect of taking them away, KL, nats", "Of the states they hold"} <= set(told)
    assert "squared length of these blocks' states" in words(app)


@pytest.mark.real
def test_the_untrained_twin_is_tried_beside(open_page, stored, twin):
    folder, _ = stored
    app = open_page("Directions", model=folder, prompt="The cat sat", block="1")
    (add,) = [one for one in app.button if one.label == "Add it to the state"]
    add.click().run()
    assert not app.exception
    assert "Untrained twin, its own" in {one.label for one in app.metric}
