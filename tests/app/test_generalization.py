"""The Generalization page on planted tables, and the sweeps on the Runs page."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import streamlit as st
from handling import button, labels, numbers, plain_words, trace
from screen import Open, charts, sent, words
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree
from sweep_table import plant, sweep_of, zoo
from syrupy.assertion import SnapshotAssertion

from coupling_core.analysis.findings import Question, find
from coupling_core.base.folders import user_cache
from coupling_core.experiments.sweeps import Failure, Journal, State, read_table
from coupling_core.figures.generalization_words import once
from coupling_core.sources.catalogue import catalogue, read_catalogue
from coupling_core.store.disk import Store
from explorer.panels.sweep_tables import tables
from explorer.server import backend
from explorer.session.plain_text import with_minus

pytestmark = pytest.mark.full

MODELS = [*zoo()[:6], *zoo()[12:]]
TABLE = sweep_of(MODELS, prompts=5)
SECRET = "nobody-else-should-read-this"
EDITOR = "catalogue@generalization"
KEEP = "Keep these changes"


@pytest.fixture(autouse=True)
def _nothing_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only what a test plants."""
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")


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


def expected(
    table: pd.DataFrame, question: Question, x: str, y: str
) -> dict[str, tuple[float, float]]:
    """The same, by the statistics."""
    rows = find(table, question).means.rows.dropna(subset=[x, y])
    xy = zip(rows[x], rows[y], strict=True)
    return {model: pytest.approx(at, rel=1e-5) for model, at in zip(rows["model"], xy, strict=True)}


def whose(app: AppTest) -> str:
    """What the figure of the prompts says it is of."""
    return charts(app)["prompt"]["layout"]["meta"]["alt"]


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


# ---- what it shows


def test_without_a_sweep_it_says_how_to_make_one(open_page: Open) -> None:
    plant(Store(), TABLE, "pictures", images=True)  # a sweep over images is another page's
    app = open_page("Generalization")
    assert "sweeps/mini.toml" in app.info[0].value
    assert not charts(app)
    assert not app.error
    assert [fold.label for fold in app.main.expander] == ["The catalogue of models"]


def test_figures_and_sentences_have_the_numbers_of_the_table(
    open_page: Open, planted: Journal
) -> None:
    app = open_page("Generalization")
    asked = Question(4)
    answer, figures = find(read_table(planted.table), asked), charts(app)
    assert list(figures) == [
        *("performance", "families", "sizes", "prompt", "trends"),
        *("by-k", "correlation-by-k"),
    ]
    of_table = answer.table
    assert models_of(figures["performance"]) == expected(of_table, asked, "coupling", "loss")
    assert models_of(figures["sizes"]) == expected(of_table, asked, "parameters", "coupling")
    r, rho = (answer.correlations[name].estimate for name in ("pearson", "spearman"))
    told = plain_words(app)
    for number in ("13", f"{answer.fits[0].r_squared:.2f}", f"{r:.2f}", f"{rho:.2f}"):
        assert f"**{with_minus(number)}**" in told
    for line in (*once(answer.shows), *once(answer.does_not_show)):
        assert with_minus(line) in told
    assert "of 3 families · 5 prompts" in told
    prompts = trace(figures["prompt"], "prompts")
    last = "coupling-explorer/mini-64@step4000"
    at_4 = TABLE[(TABLE["model"] == last) & (TABLE["k"] == 4)]
    assert list(prompts["customdata"]) == list(at_4["prompt"])
    np.testing.assert_allclose(numbers(prompts["y"]), at_4["corrected"], rtol=1e-5)
    assert not app.warning
    assert not app.error


def test_switches_change_figures_and_link(open_page: Open, planted: Journal) -> None:
    app = open_page("Generalization")
    for name, value in {
        "sweep_k": 16.0,
        "measure": "alignment",
        "against": "score",
        "subset": "trained",
        "method": "spearman",
    }.items():
        app.selectbox(key=f"{name}@sidebar").set_value(value).run()
    app.segmented_control(key="model_size@sizes").set_value("width").run()
    app.segmented_control(key="prompt_number@prompts").set_value("difficulty").run()
    app.selectbox(key="of_model@prompts").set_value("Beta-1").run()
    assert not app.error
    assert not app.exception
    link = {name: app.query_params[name] for name in app.query_params}
    assert link == {
        "gk": "16",
        "measure": "alignment",
        "against": "score",
        "subset": "trained",
        "method": "spearman",
        "size": "width",
        "number": "difficulty",
        "of": "Beta-1",
    }
    asked = Question(16, "alignment", "score", "trained", "spearman")
    again = open_page("Generalization", sweep="planted", **link)
    for page in (app, again):
        figures = charts(page)
        performance = expected(TABLE, asked, "coupling", "score")
        assert models_of(figures["performance"]) == performance
        assert len(performance) == 6
        assert models_of(figures["sizes"]) == expected(TABLE, asked, "width", "coupling")
        assert "Coupling of Beta-1 against difficulty" in whose(page)
        assert "Spearman" in figures["families"]["layout"]["xaxis"]["title"]["text"]


def test_another_sweep_is_chosen_and_the_last_written_comes_first(
    open_page: Open, planted: Journal
) -> None:
    other = plant(Store(), TABLE[TABLE["family"] != "Alpha"], "other", title="*Other* models")
    os.utime(planted.table, (1, 1))
    app = open_page("Generalization")
    assert "**9** models ·" in words(app)
    assert r"**\*Other\* models**" in words(app)
    app.selectbox(key="sweep@sidebar").set_value("planted").run()
    assert "**13** models ·" in words(app)
    assert app.query_params["sweep"] == "planted"
    os.utime(other.table, (0, 0))
    assert "**13** models ·" in words(open_page("Generalization"))


def test_of_two_tables_of_one_sweep_the_later_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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


# ---- links that lead nowhere, and tables that are damaged


def test_what_a_sweep_does_not_have_gives_way(open_page: Open, planted: Journal) -> None:
    link = {"sweep": "gone-12345678", "gk": "7", "size": "training_tokens", "of": "nobody<b>"}
    app = open_page("Generalization", **link)
    told = [warning.value for warning in app.warning]
    assert [name for name in ("gone-12345678", "K = 7") if name not in "".join(told)] == []
    assert "of coupling-explorer/mini-64@step4000 against" in whose(app)
    assert "**13** models ·" in words(app)
    assert not app.error


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "is empty"), (b"model,k\nx,4\n", "'id'"), (None, "a text where a number belongs")],
    ids=["empty", "another table", "a text for a number"],
)
def test_a_damaged_table_is_told(
    open_page: Open, planted: Journal, content: bytes | None, told: str
) -> None:
    whole = planted.table.read_bytes()
    damaged = whole.replace(b",depth,4,", b",depth,x,") if content is None else content
    planted.table.write_bytes(damaged)
    app = open_page("Generalization")
    assert told in app.error[0].value.replace("\\", "")
    assert not charts(app)
    plant(Store(), TABLE[TABLE["family"] != "Alpha"])  # written anew, it is read anew
    assert "**9** models ·" in words(app.run())


# ---- what is not known, and what is in doubt


def test_without_loss_a_score_is_looked_at_and_without_both_sizes_and_prompts(
    open_page: Open,
) -> None:
    plant(Store(), TABLE.assign(loss=np.nan))
    app = open_page("Generalization")
    assert "**6** models ·" in words(app)
    assert "performance" in charts(app)
    assert "performance" not in charts(open_page("Generalization", against="loss"))
    plant(Store(), TABLE.assign(loss=np.nan, score=np.nan))
    app = open_page("Generalization")
    assert app.info
    assert list(charts(app)) == ["sizes", "prompt", "trends", "by-k"]
    assert "models ·" not in words(app)
    assert not app.error


def test_few_models_of_one_size_and_one_prompt_draw_nothing(open_page: Open) -> None:
    rows = TABLE[TABLE["model"].isin(["Alpha-0", "Beta-0"]) & (TABLE["k"] == 4)]
    plant(
        Store(), rows[rows["prompt"] == "prompt 1"].assign(parameters=1e9, training_tokens=np.nan)
    )
    app = open_page("Generalization")
    assert not charts(app)
    assert len(app.info) == 3
    assert not app.error


def test_doubts_stand_above_the_figures(open_page: Open) -> None:
    broken = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    plant(Store(), broken, total=70)
    told = [warning.value for warning in open_page("Generalization").warning]
    counted = ("3 of 195", "2 scores", "1 of 13 models", "5 of 70")
    assert [n for n, text in zip(counted, told, strict=True) if n not in text] == []


def test_names_of_others_stay_text(open_page: Open) -> None:
    hostile = "$x$ <script>alert(1)</script> *a* [b](https://example.org)"
    plant(Store(), TABLE.replace({"model": {"Alpha-0": hostile}, "family": {"Beta": hostile}}))
    app = open_page("Generalization", of=hostile)
    assert not app.error
    for element in (*app.markdown, *app.caption):
        assert "[b](https" not in element.value
        assert "<script>" not in element.value
        assert "$x$" not in element.value


# ---- taken along


def test_the_files_are_those_of_what_is_drawn(
    open_page: Open, planted: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
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


# ---- the catalogue


def test_what_is_edited_is_kept_in_the_users_own_file_if_it_can_be(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert "line 2, column score" in app.error[0].value
    assert not own_file.exists()
    added = {"model": "me/mine", "parameters": "7", "layers": "2", "width": "8"}
    keep(edited_rows={"0": {"score": "12.5"}}, added_rows=[added])
    assert str(own_file) in app.success[0].value.replace("\\", "")
    own = read_catalogue(own_file)
    assert [model.id for model in own] == [before[0].id, "me/mine"]
    assert own[0] == replace(before[0], score=12.5)
    assert catalogue() == [own[0], *before[1:], own[1]]


# ---- sweeps on the Runs page


def note(name: str, failures: int = 0, **state: Any) -> None:
    journal = Journal.of(Store(), name)
    journal.begin({"name": name})
    about = {"title": f"Sweep *{name}*", "total": 10, "stored": 2, "pid": 2**30}
    journal.note(State(name, **about | state), now=True)
    why = f"/home/me/{SECRET} is full"
    journal.note_failures([Failure("a model", SECRET, "depth", why)] * failures)


def note_one_of_each_kind() -> None:
    born = psutil.Process().create_time()
    running = {"pid": os.getpid(), "working": ("a_model_", "b*"), "workers": 2}
    note("running", done=3, started=born, updated=born + 30, **running)
    note("done", done=8, started=500.0, updated=560.0, ended="done")
    note("stopped", done=1, started=400.0, updated=460.0, ended="stopped")
    note("killed", done=1, started=300.0, updated=360.0)
    note("broken", done=1, started=200.0, updated=260.0, ended=f"/home/me/{SECRET} is gone")
    note("failed", 2, done=6, failed=2, started=100.0, updated=160.0, ended="done")


def captions(app: AppTest) -> list[str]:
    found = [caption.value for caption in app.caption]
    return [text for text in found if " after " in text or " for " in text]


def test_sweeps_are_listed_with_how_they_stand_and_no_secret_in_a_demo(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    assert "Sweeps" not in [header.value for header in open_page("Runs").header]
    note_one_of_each_kind()
    app = open_page("Runs")
    told = captions(app)
    assert told == snapshot
    bars = [node.proto for node in app.get("progress")]
    assert [bar.value for bar in bars] == [50, 100, 30, 30, 30, 100]
    assert bars[0].text == r"**Sweep \*running\***: 5 of 10"
    assert [fold.label for fold in app.main.expander] == ["2 failed"]
    table = app.main.expander[0].dataframe[0].value
    assert list(table["Why"]) == [f"/home/me/{SECRET} is full"] * 2

    monkeypatch.setenv("COUPLING_MODE", "demo")
    app = open_page("Runs")
    assert SECRET not in sent(app)
    assert captions(app) == [text.replace(f" (/home/me/{SECRET} is gone)", "") for text in told]
    app = open_catalogue(open_page("Generalization"))
    assert KEEP not in labels(app)
    assert "Table of the models in the catalogue" in sent(app)
