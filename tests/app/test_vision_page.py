"""The Vision page: the runs as the table has them, and one picture over the rates."""

import time

import numpy as np
import pandas as pd
import pytest
from screen import Open, charts, chips, words
from sweep_table import model_row, plant, sweep_of

from coupling_core import Store, score_pairs
from coupling_core.base.images import read_image
from coupling_core.base.records import View
from coupling_core.experiments.gallery import PICTURE, vision_requests
from coupling_core.experiments.vision import SUITE
from coupling_core.experiments.vision.findings import VisionFindings
from coupling_core.sources.resolved import resolve
from explorer.asking.queue import queue
from explorer.pages.vision.page import pictures
from explorer.session.plain_text import with_minus

WITHIN = 60  # seconds


@pytest.fixture
def planted(monkeypatch, tmp_path) -> pd.DataFrame:
    """Only this table, with a coupling that falls with the rate."""
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")
    runs = [
        model_row(
            run.repo, f"rate {run.rate}", 0.3 - run.rate / 4 + run.seed / 200, revision="main"
        )
        for run in SUITE.runs
    ]
    table = sweep_of(runs, prompts=6)
    plant(Store(), table, images=True)
    return table


def test_figures_and_sentences_are_of_the_table(open_page: Open, planted: pd.DataFrame) -> None:
    app = open_page("Vision", vk="8")
    assert not app.error
    expected = VisionFindings(planted, 8)
    drawn = charts(app)
    assert list(drawn) == [
        *("coupling-by-rate", "accuracy-by-rate", "accuracy-by-coupling"),
        *("picture", "maps"),
    ]
    told = words(app).replace("\\", "")
    for line in (*expected.shows, *expected.does_not_show):
        assert with_minus(line) in told
    assert "falls with the rate" in told
    assert f"{len(SUITE.runs)} runs, {len(SUITE.rates)} rates" in told


def test_a_sweep_over_images_is_none_of_the_page_generalization(
    open_page: Open, planted: pd.DataFrame
) -> None:
    app = open_page("Generalization")
    assert "coupling sweep run sweeps/mini.toml" in app.info[0].value


def test_without_a_table_it_says_how_to_make_one(open_page: Open, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")
    app = open_page("Vision")
    assert "coupling sweep run sweeps/vision.toml" in app.info[0].value
    assert list(charts(app)) == ["picture", "maps"]


def test_a_kind_that_was_not_measured_is_said_and_the_picture_stays(
    open_page: Open, planted: pd.DataFrame
) -> None:
    app = open_page("Vision", vk="8", vkind="self")
    assert "was measured between all tokens" in app.error[0].value
    assert list(charts(app)) == ["picture", "maps"]


def test_maps_are_those_of_the_stored_results(open_page: Open, planted: pd.DataFrame) -> None:
    app = open_page("Vision", vk="10")
    results = [Store().find(request, resolve(request).identity) for request in vision_requests()]
    means = [
        f"{score_pairs(result, View(10)).corrected[~np.eye(8, dtype=bool)].mean():.3f}"
        for result in results
    ]
    told = [a["text"] for a in charts(app)["maps"]["layout"]["annotations"]]
    titles = [text for text in told if text.startswith("Rate")]
    assert titles == [
        f"Rate {rate:g}<br>{mean}" for rate, mean in zip(SUITE.rates, means, strict=True)
    ]


def test_a_chosen_patch_is_measured_for_every_rate(open_page: Open, planted: pd.DataFrame) -> None:
    app = open_page("Vision", vk="8")
    app.number_input(key="patch@vision").set_value(5).run()
    (compute,) = (b for b in app.main.button if b.label == f"Compute all {len(SUITE.rates)}")
    app = compute.click().run()
    end = time.monotonic() + WITHIN
    while queue().active():
        assert time.monotonic() < end
        time.sleep(0.1)
    app = app.run()
    assert [error.value for error in app.error] == []
    assert "maps" in charts(app)
    button = next(b for b in app.main.button if b.label == "This run on Depth")
    assert button
    app.segmented_control(key="rate@vision").set_value("0.2").run()
    assert app.query_params["rate"] == "0.2"
    assert app.query_params["patch"] == "5"


def test_every_picture_that_ships_can_be_chosen(open_page: Open, planted: pd.DataFrame) -> None:
    assert len(pictures()) == 40
    app = open_page("Vision", picture="bag/0018", seed="9")
    assert app.selectbox(key="picture@vision").value == "bag/0018"
    app = open_page("Vision", picture="bag/none")
    assert "is not here" in app.warning[0].value
    assert app.selectbox(key="picture@vision").value == "sneaker/0009"


def test_other_pages_measure_images_too(open_page: Open) -> None:
    request = vision_requests()[0]
    query = {"model": request.model, "prompt": read_image(PICTURE), "token": "1", "k": "10"}
    app = open_page("Depth", **query)
    assert not app.error
    assert "scores" in charts(app)
    shown = chips(app)
    assert " seen as <b>" in shown
    assert "most likely" not in shown
    assert [button.label for button in app.sidebar.button if "text" in button.label] == [
        "Use a text"
    ]
