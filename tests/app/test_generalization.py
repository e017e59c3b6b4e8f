"""The Generalization page on planted tables."""

import json
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from handling import button, labels, numbers
from screen import charts, sent, words
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree
from sweep_table import plant, sweep_of, zoo

from coupling_core.analysis.findings import Question, filled_subsets, find
from coupling_core.base.folders import user_cache
from coupling_core.experiments.sweeps import Journal, read_table
from coupling_core.sources.catalogue import catalogue, read_catalogue
from coupling_core.store.disk import Store
from explorer.panels.sweep_tables import tables
from explorer.server import backend

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("nothing_shipped")]

MODELS = [*zoo()[:6], *zoo()[12:]]
TABLE = sweep_of(MODELS, prompts=5)
EDITOR = "catalogue@generalization"
KEEP = "Keep these changes"


@pytest.fixture
def planted() -> Journal:
    return plant(Store(), TABLE)


def models_of(figure: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """x and y of each model."""
    found = {}
    for one in figure["data"]:
        if one.get("mode") == "markers" and "customdata" in one:
            xy = zip(numbers(one["x"]), numbers(one["y"]), strict=True)
            found |= dict(zip(one["customdata"], xy, strict=True))
    return found


def expected(question: Question, x: str, y: str) -> dict[str, tuple[float, float]]:
    """The same, by the statistics."""
    rows = find(TABLE, question).means.rows.dropna(subset=[x, y])
    xy = zip(rows[x], rows[y], strict=True)
    return {model: pytest.approx(at, rel=1e-5) for model, at in zip(rows["model"], xy, strict=True)}


def send(app: AppTest, patch: pytest.MonkeyPatch, **state: Any) -> AppTest:
    """Run again with what the browser would send of a widget that the test cannot handle."""
    own = ElementTree.get_widget_states

    def with_more(tree: ElementTree) -> Any:
        states = own(tree)
        states.widgets.append(WidgetState(**state))
        return states

    with patch.context() as here:
        here.setattr(ElementTree, "get_widget_states", with_more)
        return app.run()


def id_of(app: AppTest, key: str) -> str:
    """The browser's name of the widget with this key."""
    protos = (node.proto for node in app._tree if hasattr(node, "proto"))
    return next(found for one in protos if (found := getattr(one, "id", "")).endswith(f"-{key}"))


def open_catalogue(app: AppTest) -> AppTest:
    app.session_state[f"{EDITOR}@fold"] = True
    return app.run()


def test_without_a_sweep_it_says_how_to_make_one(open_page) -> None:
    plant(Store(), TABLE, "pictures", images=True)  # a sweep over images is another page's
    app = open_page("Generalization")
    assert "sweeps/mini.toml" in app.info[0].value
    assert not charts(app)
    assert [fold.label for fold in app.main.expander] == ["The catalogue of models"]


def test_switches_change_figures_and_link(open_page, planted) -> None:
    app = open_page("Generalization", measure="alignment", against="score")
    app.selectbox(key="sweep_k@sidebar").set_value(16.0).run()
    app.selectbox(key="subset@sidebar").set_value("trained").run()
    app.selectbox(key="method@sidebar").set_value("spearman").run()
    app.segmented_control(key="model_size@sizes").set_value("width").run()
    app.segmented_control(key="prompt_number@prompts").set_value("difficulty").run()
    app.selectbox(key="of_model@prompts").set_value("Beta-1").run()
    assert not app.error
    of_question = {"gk": "16", "measure": "alignment", "against": "score", "subset": "trained"}
    of_figures = {"method": "spearman", "size": "width", "number": "difficulty", "of": "Beta-1"}
    assert dict(app.query_params) == of_question | of_figures
    asked = Question(16, "alignment", "score", "trained", "spearman")
    figures, performance = charts(app), expected(asked, "coupling", "score")
    assert models_of(figures["performance"]) == performance
    assert len(performance) == 6
    assert models_of(figures["sizes"]) == expected(asked, "width", "coupling")
    assert "coupling of Beta-1 against difficulty" in figures["prompt"]["layout"]["meta"]["alt"]
    assert "Spearman" in figures["families"]["layout"]["xaxis"]["title"]["text"]


def test_another_sweep_is_chosen_and_the_last_written_comes_first(open_page, planted) -> None:
    other = plant(Store(), TABLE[TABLE["family"] != "Alpha"], "other", title="*Other* models")
    os.utime(planted.table, (1, 1))
    app = open_page("Generalization")
    assert "**9** models ·" in words(app)
    assert r"**\*Other\* models**" in words(app)
    app.selectbox(key="sweep@sidebar").set_value("planted").run()
    assert "**13** models ·" in words(app)
    assert app.query_params["sweep"] == "planted"
    os.utime(other.table, (0, 0))
    app = open_page("Generalization", gk="7", size="training_tokens", of="nobody<b>")
    assert "**13** models ·" in words(app)
    assert "K = 7" in app.warning[0].value  # what the sweep does not have gives way
    told = charts(app)["prompt"]["layout"]["meta"]["alt"]
    assert "of coupling-explorer/mini-64@step4000 against" in told
    assert not app.error


def test_of_two_tables_of_one_sweep_the_later_counts(monkeypatch, tmp_path) -> None:
    here, shipped = Store(), Store(tmp_path / "shipped")
    for store, then in ((here, 2), (shipped, 1)):
        os.utime(plant(store, TABLE, "both").table, (then, then))
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", shipped.root)
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.MEASURED", "sweeps")
    st.cache_resource.clear()
    backend.store.forget()
    assert tables()["both"].folder == Journal.of(here, "both").folder
    os.utime(Journal.of(shipped, "both").table, (3, 3))
    assert tables()["both"].folder == Journal.of(shipped, "both").folder


def test_a_damaged_table_is_told_and_read_anew_once_it_is_whole(open_page, planted) -> None:
    app, whole = open_page("Generalization"), planted.table.read_bytes()
    for damaged, told in (
        (b"", "No columns to parse"),
        (b"model,k\nx,4\n", "'id'"),
        (whole.replace(b",depth,4,", b",depth,x,"), "could not convert"),
    ):
        planted.table.write_bytes(damaged)
        app.run()
        assert told in app.error[0].value.replace("\\", "")
        assert not charts(app)
    plant(Store(), TABLE[TABLE["family"] != "Alpha"])
    assert "**9** models ·" in words(app.run())


def test_what_is_not_known_is_not_drawn_and_a_score_stands_in_for_a_loss(open_page) -> None:
    plant(Store(), TABLE.assign(loss=np.nan))
    app = open_page("Generalization")
    assert "**6** models ·" in words(app)
    assert "performance" in charts(app)
    assert "performance" not in charts(open_page("Generalization", against="loss"))
    plant(Store(), TABLE.assign(loss=np.nan, score=np.nan))
    app = open_page("Generalization")
    assert list(charts(app)) == ["sizes", "prompt", "trends", "by-k"]
    assert "models ·" not in words(app)
    few = TABLE[TABLE["model"].isin(["Alpha-0", "Beta-0"]) & (TABLE["k"] == 4)]
    few = few[few["prompt"] == "prompt 1"].assign(parameters=1e9, training_tokens=np.nan)
    plant(Store(), few)
    app = open_page("Generalization")
    assert not charts(app)
    assert len(app.info) == 3
    assert not app.error


def test_a_subset_without_models_is_not_offered_and_a_link_to_it_shows_all(open_page) -> None:
    table = sweep_of(zoo()[:6], prompts=3).assign(parameters=1e6, score=np.nan)
    assert not {"7b", "above-45"} & set(filled_subsets(table))
    plant(Store(), table)
    app = open_page("Generalization", subset="7b")
    assert "7B models only" in app.warning[0].value
    assert "7B models only" not in app.selectbox(key="subset@sidebar").options
    assert [box.key for box in app.selectbox if len(box.options) < 2] == []
    assert not app.error
    assert "performance" in charts(app)


def test_doubts_stand_above_the_figures(open_page) -> None:
    broken = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    plant(Store(), broken, total=70)
    told = [warning.value for warning in open_page("Generalization").warning]
    counted = ("3 of 195", "2 scores", "1 of 13 models", "5 of 70")
    assert [n for n, text in zip(counted, told, strict=True) if n not in text] == []


def test_names_of_others_stay_text(open_page) -> None:
    hostile = "$x$ <script>alert(1)</script> *a* [b](https://example.org)"
    plant(Store(), TABLE.replace({"model": {"Alpha-0": hostile}, "family": {"Beta": hostile}}))
    app = open_page("Generalization", of=hostile)
    assert not app.error
    for element in (*app.markdown, *app.caption):
        assert "[b](https" not in element.value
        assert "<script>" not in element.value
        assert "$x$" not in element.value


def test_the_files_are_those_of_what_is_drawn(open_page, planted, monkeypatch) -> None:
    offered: dict[str, Any] = {}
    monkeypatch.setattr(
        st, "download_button", lambda label, data, *_, **__: offered.update({label: data})
    )
    open_page("Generalization", gk="8", against="score", subset="trained")
    files = {label.split(" ")[0]: data() for label, data in offered.items() if "(" in label}
    assert files["Scores,"] == planted.table.read_bytes()
    answer = find(read_table(planted.table), Question(8, against="score", subset="trained"))
    assert f"r = {answer.correlations['pearson'].estimate:.2f}" in files["Report"].decode()
    assert files["Means,"].decode().count("\n") == 1 + len(answer.means.rows)


def test_what_is_edited_is_kept_in_the_users_own_file_if_it_can_be(open_page, monkeypatch) -> None:
    app = open_catalogue(open_page("Generalization"))
    before, own_file = catalogue(), user_cache() / "models.csv"
    assert button(app, KEEP).disabled

    def keep(**edits: Any) -> None:
        state = {"id": id_of(app, EDITOR), "string_value": json.dumps(edits)}
        send(app, monkeypatch, **state)
        button(app, KEEP).click()
        send(app, monkeypatch, **state)
        assert not app.exception

    keep(edited_rows={"1": {"score": "a lot"}})
    assert "line 2: column score" in app.error[0].value
    assert not own_file.exists()
    added = {"model": "me/mine", "parameters": "7", "layers": "2", "width": "8"}
    keep(edited_rows={"0": {"score": "12.5"}}, added_rows=[added])
    assert str(own_file) in app.success[0].value.replace("\\", "")
    own = read_catalogue(own_file)
    assert [model.id for model in own] == [before[0].id, "me/mine"]
    assert own[0] == replace(before[0], score=12.5)
    assert catalogue() == [own[0], *before[1:], own[1]]
    monkeypatch.setenv("COUPLING_MODE", "demo")
    app = open_catalogue(open_page("Generalization"))
    assert KEEP not in labels(app)
    assert "Table of the models in the catalogue" in sent(app)
