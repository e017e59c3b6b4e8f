"""The Directions page: what is stored shows at once, chance is grey, and a direction is tried."""

from pathlib import Path

import numpy as np
import pytest
import tiny
from handling import labels, numbers, plain_words, press
from screen import Open, charts
from transformers import AutoModelForCausalLM

from coupling_core import DirectionsResult, DirectionsView, Request, Store, measure, shared_of
from coupling_core.analysis.directions import counts, held, track
from explorer.pages.directions.effect import SIZES

pytestmark = pytest.mark.full

PROMPT = "The cat sat"


@pytest.fixture
def stored(tmp_path: Path) -> DirectionsResult:
    folder = str(tiny.folder(tmp_path / "tiny"))
    return measure(Request(PROMPT, model=folder, kind="directions"), Store())


@pytest.fixture
def link(stored: DirectionsResult) -> dict[str, str]:
    return {"model": stored.request.model, "prompt": PROMPT}


def curves(figure: dict) -> dict[str, np.ndarray]:
    return {line["name"]: numbers(line["y"]) for line in figure["data"] if "bdata" in line["y"]}


def test_what_is_stored_shows_at_once_and_a_twin_beside_it_or_offered(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    app = open_page("Directions", **link)
    found = curves(charts(app)["readouts"])
    np.testing.assert_array_equal(found["what it writes"], counts(stored)[0])
    assert "what it writes, untrained" not in found
    assert any("twin is not measured" in fold.label for fold in app.expander)
    assert {"readouts", "gain-over-depth", "held-over-depth"} <= set(charts(app))
    assert "Blocks 3 to 4 write" in plain_words(app)  # the nearest to those of deeper models

    twin = measure(Request(PROMPT, link["model"], kind="directions", untrained=0), Store())
    found = curves(charts(open_page("Directions", **link))["readouts"])
    np.testing.assert_array_equal(found["what it writes, untrained"], counts(twin)[0])


def test_what_is_no_more_than_chance_names_no_token(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    beyond = stored.beyond_chance[1, 1][: int(stored.rank[1])].astype(bool)
    app = open_page("Directions", **link, block="2", readout="reads")
    named = app.dataframe[0].value["towards"] != "no more than chance"
    assert list(named) == list(beyond)
    assert f"{beyond.sum()} of {stored.count} are more peaked" in plain_words(app)


def test_a_direction_is_chosen_by_a_link_and_by_its_number(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    app = open_page("Directions", **link, block="2", component="3")
    gain = curves(charts(app)["gain-over-depth"])["direction 3"]
    np.testing.assert_allclose(gain, track(stored, 2, 3), rtol=1e-6)
    app.number_input(key="component@directions").set_value(1).run()
    assert not app.exception
    assert "component" not in app.query_params
    kept = curves(charts(app)["held-over-depth"])["written"]
    np.testing.assert_allclose(kept, held(stored, stored.basis(2, "u")[:, 0], "u"), rtol=1e-6)
    app = open_page("Directions", **link, block="99", component="99")
    last = f"Direction {int(stored.rank[-1])} of block {stored.n_blocks}"
    assert last in plain_words(app)


@pytest.mark.real
def test_a_direction_is_added_and_told_beside_random_ones_and_the_twin(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    measure(Request(PROMPT, link["model"], kind="directions", untrained=0), Store())
    app = press(open_page("Directions", **link, block="1"), "Add it to the state")
    assert not app.error
    at_first = {one.label: one.value for one in app.metric}
    assert {"Random directions, median", "Untrained twin, its own"} <= set(at_first)
    app.select_slider(key="push@directions").set_value(SIZES[-1]).run()
    later = {one.label: one.value for one in app.metric}
    effect = "Effect, KL, nats"
    assert float(later[effect]) != float(at_first[effect])


def test_nothing_is_added_behind_the_final_norm(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    app = open_page("Directions", **link, block=str(stored.n_blocks))
    assert app.info
    assert "Add it to the state" not in labels(app)


def test_what_blocks_have_in_common_is_drawn_beside_chance(
    open_page: Open, stored: DirectionsResult, link: dict[str, str]
) -> None:
    app = open_page("Directions", **link, **{"from": "2", "to": "4"})
    found = shared_of(stored, DirectionsView((2, 3, 4)))
    lines = curves(charts(app)["shared"])
    np.testing.assert_allclose(lines["shared direction"], found.share, rtol=1e-6)
    np.testing.assert_allclose(lines["by chance, at most"], found.chance)
    assert "Blocks 2 to 4 write" in plain_words(app)
    app.number_input(key="first_block@directions").set_value(1).run()
    assert not app.exception
    assert "Blocks 1 to 4 write" in plain_words(app)


@pytest.mark.real
def test_shared_directions_are_read_out_and_taken_away(open_page: Open, tmp_path: Path) -> None:
    """Of blocks that are copies of one another; independent ones share nothing to be tried."""
    folder = tiny.folder(tmp_path / "tiny")
    model = AutoModelForCausalLM.from_pretrained(folder)
    for block in model.model.layers[1:]:
        block.load_state_dict(model.model.layers[0].state_dict())
    model.save_pretrained(folder)
    result = measure(Request(PROMPT, model=str(folder), kind="directions"), Store())
    assert shared_of(result, DirectionsView((1, 2, 3))).count >= 1
    app = open_page("Directions", model=str(folder), prompt=PROMPT, **{"from": "1"})
    press(app, "Read them out")
    assert not app.error
    told = {one.label for one in app.metric}
    assert {"Effect of taking them away, KL, nats", "Of the states they hold"} <= told
