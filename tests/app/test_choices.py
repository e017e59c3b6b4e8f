"""A choice that leads nowhere is not offered; what it lacks is shown some other way."""

import pytest
from handling import button, press
from screen import Open, charts
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


def test_two_results_of_one_kind_can_be_compared(open_page: Open) -> None:
    app = open_page("Runs")
    keys = list(app.dataframe[0].value["Key"])
    first, second = rows_of(app, "depth")[:2]
    app = select_rows(app, [first, rows_of(app, "trajectory")[0]])
    assert button(app, "Compare these two").disabled
    app = press(select_rows(app, [first, second]), "Compare these two")
    assert app.title[0].value == "Two results side by side"
    assert (app.query_params["a"], app.query_params["b"]) == (keys[first], keys[second])


def test_a_subset_without_models_is_not_offered_and_a_link_to_it_shows_all(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")
    table = sweep_of(zoo()[:6], prompts=3).assign(parameters=1e6, score=float("nan"))
    assert not {"7b", "above-45"} & set(filled_subsets(table))
    plant(Store(), table)
    app = open_page("Generalization", subset="7b")
    assert "7B models only" in app.warning[0].value
    assert "7B models only" not in app.selectbox(key="subset@sidebar").options
    assert [box.key for box in app.selectbox if len(box.options) < 2] == []
    assert not app.error
    assert "performance" in charts(app)


def test_rarely_used_controls_are_folded(open_page: Open) -> None:
    app = open_page("Depth")
    (fold,) = [each for each in app.sidebar.expander if each.label == "Advanced"]
    assert {box.label for box in fold.selectbox} >= {"Definition of the score"}
    assert "Prompt" not in {box.label for box in fold.selectbox}
