"""The Vision page: the runs as the table has them, and one picture over the rates."""

import numpy as np
import pandas as pd
import pytest
from handling import button, labels, plain_words, press, settled, shipped
from screen import charts, chips
from sweep_table import model_row, plant, sweep_of

from coupling_core import Store, View, score_pairs
from coupling_core.base.images import read_image
from coupling_core.base.units import with_minus
from coupling_core.experiments.gallery import PICTURE, vision_requests
from coupling_core.experiments.vision import SUITE
from coupling_core.experiments.vision.findings import VisionFindings
from explorer.pages.vision.page import pictures

pytestmark = pytest.mark.full


@pytest.fixture
def planted(nothing_shipped: None) -> pd.DataFrame:
    """Only this table, with a coupling that falls with the rate."""
    runs = [
        model_row(
            run.repo, f"rate {run.rate}", 0.3 - run.rate / 4 + run.seed / 200, revision="main"
        )
        for run in SUITE.runs
    ]
    table = sweep_of(runs, prompts=6)
    plant(Store(), table, images=True)
    return table


def test_figures_are_of_the_table_and_maps_of_the_stored_results(open_page, planted) -> None:
    app = open_page("Vision", vk="8")
    assert not app.error
    drawn = charts(app)
    assert list(drawn) == [
        *("coupling-by-rate", "accuracy-by-rate", "accuracy-by-coupling"),
        *("picture", "maps"),
    ]
    expected, told = VisionFindings(planted, 8), plain_words(app)
    for line in (*expected.shows, *expected.does_not_show):
        assert with_minus(line) in told
    assert "falls with the rate" in told
    results = map(shipped, vision_requests())
    off = ~np.eye(8, dtype=bool)
    means = [f"{score_pairs(one, View(8)).corrected[off].mean():.3f}" for one in results]
    texts = [one["text"] for one in drawn["maps"]["layout"]["annotations"]]
    assert [text for text in texts if text.startswith("Rate")] == [
        f"Rate {rate:g}<br>{mean}" for rate, mean in zip(SUITE.rates, means, strict=True)
    ]
    app = open_page("Vision", vk="8", vkind="self")  # which was not measured
    assert app.error
    assert list(charts(app)) == ["picture", "maps"]


def test_without_a_table_it_says_how_to_make_one(open_page, nothing_shipped) -> None:
    assert len(pictures()) == 40
    app = open_page("Vision")
    assert "sweeps/vision.toml" in app.info[0].value
    assert list(charts(app)) == ["picture", "maps"]


def test_a_chosen_patch_is_measured_for_every_rate(open_page, planted) -> None:
    app = open_page("Vision", vk="8")
    app.number_input(key="patch@vision").set_value(5).run()
    assert "the maps are those of the class token" in plain_words(app)
    assert "maps" in charts(app)
    app = settled(press(app, f"Compute all {len(SUITE.rates)}"))
    assert [error.value for error in app.error] == []
    assert "the maps are those of the class token" not in plain_words(app)
    assert button(app, "This run on Depth")
    app.segmented_control(key="rate@vision").set_value("0.2").run()
    assert (app.query_params["rate"], app.query_params["patch"]) == ("0.2", "5")


def test_other_pages_measure_images_too(open_page) -> None:
    request = vision_requests()[0]
    query = {"model": request.model, "prompt": read_image(PICTURE), "token": "1", "k": "10"}
    app = open_page("Depth", **query)
    assert not app.error
    assert "scores" in charts(app)
    assert " seen as <b>" in chips(app)
    assert "most likely" not in chips(app)
    assert [label for label in labels(app) if "text" in label] == ["Use a text"]
