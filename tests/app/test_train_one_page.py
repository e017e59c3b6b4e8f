"""The page Train one: a model from its controls to the other pages, and what is refused."""

import time
from pathlib import Path

import numpy as np
import pytest
from screen import Open, charts, words
from streamlit.testing.v1 import AppTest

from coupling_core.experiments.own import plans
from coupling_core.experiments.own.plans import OwnPlan
from coupling_core.sources.suites import find_suite, suites
from explorer.server import trainer

SECONDS = 120


@pytest.fixture(autouse=True)
def lane(
    in_this_process: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared_text: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "own-text").symlink_to(shared_text)
    monkeypatch.setenv("COUPLING_HOME", str(home))
    monkeypatch.setenv("COUPLING_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(plans, "STEPS", (0, 2, 5))
    trainer.lane.forget()


@pytest.fixture(scope="module")
def shared_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own-text")


def train(app: AppTest) -> AppTest:
    (button,) = [one for one in app.button if one.label == "Train"]
    return button.click().run()


def ended(app: AppTest, name: str) -> AppTest:
    end = time.monotonic() + SECONDS
    while trainer.lane().standing(name).is_active:
        assert time.monotonic() < end
        time.sleep(0.1)
    return app.run()


def line(app: AppTest, figure: str) -> list[float]:
    """The numbers of the first model, by step."""
    (trace,) = [one for one in charts(app)[figure]["data"] if one.get("customdata")]
    return trace["y"]


SMALL = {"own_blocks": "2", "own_width": "32"}


def test_a_model_is_trained_and_goes_on_to_the_other_pages(open_page: Open) -> None:
    app = open_page("Train one", **SMALL)
    assert not app.exception
    assert not charts(app)
    app = ended(train(app), "my-run-1")
    assert not app.exception
    assert find_suite("my-run-1").steps == (0, 2, 5)
    found = charts(app)
    assert set(found) == {"loss", "corrected", "map-my-run-1"}
    told = next(trace for trace in found["loss"]["data"] if trace.get("customdata"))
    assert len(told["customdata"]) == 3
    assert "step 5" in words(app)
    (onwards,) = [one for one in app.button if one.label == "Training"]
    onwards.click().run()
    assert app.query_params["suites"] == "my-run-1"


def test_two_stand_side_by_side_and_differ_in_what_was_changed(open_page: Open) -> None:
    app = ended(train(open_page("Train one", **SMALL)), "my-run-1")
    (push,) = [one for one in app.get("button_group") if one.label == "Coupling"]
    push.set_value("lower").run()
    app = ended(train(app), "my-run-2")
    assert not app.exception
    assert set(charts(app)) == {"loss", "corrected", "map-my-run-1", "map-my-run-2"}
    assert find_suite("my-run-2").title == "my-run-2: 2 blocks of width 32, coupling lowered"
    assert find_suite("my-run-1").losses()[0] == find_suite("my-run-2").losses()[0]
    assert find_suite("my-run-1").losses()[5] != find_suite("my-run-2").losses()[5]


def test_what_was_trained_before_is_shown_from_what_is_stored(open_page: Open) -> None:
    app = ended(train(open_page("Train one", **SMALL)), "my-run-1")
    before = line(app, "loss")
    trainer.lane.forget()
    app = open_page("Train one")
    np.testing.assert_allclose(line(app, "loss"), before, atol=1e-5)
    assert "map-my-run-1" in charts(app)


def test_one_that_is_cancelled_leaves_nothing(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "STEPS", (0, 2, 100_000))
    monkeypatch.setattr(plans, "LONGEST", 1e9)
    app = train(open_page("Train one", **SMALL))
    end = time.monotonic() + SECONDS
    while not (turn := trainer.lane().standing("my-run-1")).progress or not turn.progress.done:
        assert time.monotonic() < end
        time.sleep(0.05)
    app.run()
    (button,) = [one for one in app.button if one.label == "Cancel"]
    app = ended(button.click().run(), "my-run-1")
    assert "was cancelled" in app.info[0].value
    assert "my-run-1" not in suites()


@pytest.mark.parametrize(
    ("name", "told"),
    [("mini-64", "choose another name"), ("My Run", "cannot be called")],
)
def test_a_name_that_cannot_be_had_is_told(open_page: Open, name: str, told: str) -> None:
    app = open_page("Train one", **SMALL)
    app.text_input(key="own_name@own").set_value(name).run()
    app = train(app)
    assert told in app.error[0].value
    assert not app.exception
    assert trainer.lane().names() == ()


@pytest.mark.parametrize("setting", ["COUPLING_READ_ONLY", "COUPLING_MODE", "COUPLING_TRAINING"])
def test_an_app_that_trains_none_says_so(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    value = {"COUPLING_MODE": "demo", "COUPLING_TRAINING": "false"}.get(setting, "true")
    monkeypatch.setenv(setting, value)
    app = open_page("Train one")
    assert "No models are trained here" in app.info[0].value
    assert not [one for one in app.button if one.label == "Train"]
    with pytest.raises(Exception, match="no models are trained here"):
        trainer.train(OwnPlan("mine"), "x", None, "me")


def test_every_choice_comes_back_from_a_link(open_page: Open) -> None:
    chosen = {
        "own_blocks": "3", "own_width": "96", "own_rate": "0.002", "own_drop": "0.25",
        "own_push": "raise", "own_seed": "7", "own_name": "mine",
    }  # fmt: skip
    app = open_page("Train one", **chosen)
    assert not app.exception
    assert dict(app.query_params) == {k: v for k, v in chosen.items()}
    app = open_page("Train one", own_blocks="99", own_width="33", own_rate="5")
    assert not app.exception
    assert "Part of the request was left out" in app.warning[0].value
