"""A choice that leads nowhere is not offered; what it lacks is shown some other way."""

import pytest
from screen import Open, charts, words
from streamlit.testing.v1 import AppTest
from sweep_table import plant, sweep_of, zoo

from coupling_core import Store
from coupling_core.analysis.findings import filled_subsets


def select_rows(app: AppTest, rows: list[int]) -> AppTest:
    """Tick rows of the list of results."""
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return app.run()


def rows_of(app: AppTest, kind: str) -> list[int]:
    listed = app.dataframe[0].value
    return [at for at, found in enumerate(listed["Kind"]) if found == kind]


def test_two_rows_of_runs_can_be_compared(open_page: Open) -> None:
    app = open_page("Runs")
    keys = list(app.dataframe[0].value["Key"])
    first, second = rows_of(app, "depth")[:2]
    app = select_rows(app, [first, second])
    next(button for button in app.button if button.label == "Compare these two").click().run()
    assert app.title[0].value == "Two results side by side"
    assert (app.query_params["a"], app.query_params["b"]) == (keys[first], keys[second])


def test_what_cannot_be_compared_says_why(open_page: Open) -> None:
    app = open_page("Runs")
    app = select_rows(app, [rows_of(app, "depth")[0], rows_of(app, "trajectory")[0]])
    (button,) = [each for each in app.button if each.label == "Compare these two"]
    assert button.disabled
    assert "Only results of the blocks at one token" in words(app)
    assert "Choose one row, or two" in words(select_rows(app, [0, 1, 2]))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """One sweep, whose models are all small and have no score."""
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")
    table = sweep_of(zoo()[:6], prompts=3).assign(parameters=1e6, score=float("nan"))
    assert not {"7b", "above-45"} & set(filled_subsets(table))
    plant(Store(), table)


def test_a_subset_without_models_is_not_offered(open_page: Open, small: None) -> None:
    app = open_page("Generalization")
    assert "7B models only" not in app.selectbox(key="subset@sidebar").options
    assert [box.key for box in app.selectbox if len(box.options) < 2] == []


def test_a_link_to_an_empty_subset_shows_all_models(open_page: Open, small: None) -> None:
    app = open_page("Generalization", subset="7b")
    assert "The sweep has none of 7B models only: all are shown." in app.warning[0].value
    assert not app.error
    assert "performance" in charts(app)


def test_a_patch_that_is_not_measured_keeps_the_maps(open_page: Open) -> None:
    app = open_page("Vision", patch="9")
    assert "the maps are those of the class token" in words(app)
    assert "maps" in charts(app)
    assert any(
        told.value.startswith("Not measured yet: about ") and "of computing" in told.value
        for told in app.info
    )


def test_training_starts_before_training_with_a_sentence_on_rise_and_fall(
    open_page: Open,
) -> None:
    app = open_page("Training")
    told = words(app).replace("\\", "")
    assert "Step 0: mean" in told
    assert "Coupling rises from \u22120.005 before training to 0.139 at step 128, fastest" in told
    assert "between steps 16 and 32 (by 0.067)" in told
    assert "while the loss falls from 7.13 to 3.12 nats a token" in told


def test_pictures_say_model_prompt_and_k_below_the_map(open_page: Open) -> None:
    app = open_page("Depth")
    title = charts(app)["scores"]["layout"]["title"]["text"]
    assert title.startswith("SmolLM2-135M-Instruct at token 10 of 10, “is”, K = 50<br>")
    assert "What is the capital of France? The capital is" in title
    configs = [chart.proto.config for chart in app.get("plotly_chart")]
    assert any("K-50_scores" in config for config in configs)


def test_rarely_used_controls_are_folded(open_page: Open) -> None:
    app = open_page("Depth")
    (fold,) = [each for each in app.sidebar.expander if each.label == "Advanced"]
    assert {box.label for box in fold.selectbox} >= {"Definition of the score"}
    assert "Prompt" not in {box.label for box in fold.selectbox}
