"""The page Train one: a model from its controls to the other pages, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from handling import labels, press
from screen import charts, unpacked, words
from streamlit.testing.v1 import AppTest
from waiting import until

from coupling_core.experiments.own import plans
from coupling_core.experiments.own.plans import OwnPlan
from coupling_core.sources.suites import find_suite, suites
from explorer.server import trainer

pytestmark = pytest.mark.full
SMALL = {"own_blocks": "2", "own_width": "32"}


@pytest.fixture(autouse=True)
def _lane(
    in_this_process: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    text = tmp_path_factory.getbasetemp() / "own-text"
    text.mkdir(exist_ok=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "own-text").symlink_to(text)
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(plans, "STEPS", (0, 2, 5))
    trainer.lane.forget()


def ended(app: AppTest, name: str) -> AppTest:
    until(lambda: not trainer.lane().standing(name).is_active)
    app.run()
    assert not app.exception
    return app


def line(app: AppTest, figure: str) -> np.ndarray:
    """The numbers of the first model, by step."""
    (trace,) = [one for one in charts(app)[figure]["data"] if one.get("customdata")]
    return unpacked(trace["y"])


def test_a_model_is_trained_stays_and_goes_on_to_the_other_pages(open_page) -> None:
    app = open_page("Train one", **SMALL)
    assert not charts(app)
    app = ended(press(app, "Train"), "my-run-1")
    assert find_suite("my-run-1").steps == (0, 2, 5)
    assert set(charts(app)) == {"loss", "corrected", "map-my-run-1"}
    before = line(app, "loss")
    assert len(before) == 3
    assert "step 5" in words(app)
    press(app, "Training")
    assert app.query_params["suites"] == "my-run-1"
    trainer.lane.forget()
    app = open_page("Train one")  # from what is stored
    np.testing.assert_allclose(line(app, "loss"), before, atol=1e-5)
    assert "map-my-run-1" in charts(app)


@pytest.mark.slow
def test_two_stand_side_by_side_and_differ_in_what_was_changed(open_page) -> None:
    app = ended(press(open_page("Train one", **SMALL), "Train"), "my-run-1")
    (push,) = [one for one in app.get("button_group") if one.label == "Coupling"]
    push.set_value("lower").run()
    app = ended(press(app, "Train"), "my-run-2")
    assert set(charts(app)) == {"loss", "corrected", "map-my-run-1", "map-my-run-2"}
    first, second = (find_suite(f"my-run-{n}").losses() for n in (1, 2))
    assert first[0] == second[0]
    assert first[5] != second[5]


def test_one_that_is_cancelled_leaves_nothing(open_page, monkeypatch) -> None:
    monkeypatch.setattr(plans, "STEPS", (0, 2, 100_000))
    monkeypatch.setattr(plans, "LONGEST", 1e9)
    app = press(open_page("Train one", **SMALL), "Train")
    until(lambda: (turn := trainer.lane().standing("my-run-1")).progress and turn.progress.done)
    app = ended(press(app.run(), "Cancel"), "my-run-1")
    assert "cancelled" in app.info[0].value
    assert "my-run-1" not in suites()


def test_a_name_that_cannot_be_had_is_told(open_page) -> None:
    app = open_page("Train one", **SMALL)
    for name in ("mini-64", "My Run"):
        app.text_input(key="own_name@own").set_value(name).run()
        app = press(app, "Train")
        assert name in app.error[0].value
    assert trainer.lane().names() == ()


@pytest.mark.parametrize(("setting", "value"), [("READ_ONLY", "true"), ("TRAINING", "false")])
def test_an_app_that_trains_none_says_so(open_page, monkeypatch, setting, value) -> None:
    monkeypatch.setenv(f"COUPLING_{setting}", value)
    app = open_page("Train one")
    assert app.info
    assert "Train" not in labels(app)
    with pytest.raises(Exception, match="no models are trained here"):
        trainer.train(OwnPlan("mine"), "x", None, "me")
