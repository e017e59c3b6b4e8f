"""The Generalization page on planted tables, and the sweeps on the Runs page."""

import base64
import json
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import streamlit as st
from screen import Open, charts, sent, words
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree
from sweep_table import plant, sweep_of, zoo

from coupling_core.analysis.findings import Question, find
from coupling_core.base.folders import user_cache
from coupling_core.experiments.sweeps import Failure, Journal, State, read_table
from coupling_core.figures.generalization_words import once
from coupling_core.sources.catalogue import catalogue, read_catalogue
from coupling_core.store.disk import Store
from explorer.frame.contents import LINKS
from explorer.panels.sweep_tables import tables
from explorer.server import backend
from explorer.session.plain_text import with_minus

MODELS = [*zoo()[:6], *zoo()[12:]]
TABLE = sweep_of(MODELS, prompts=5)
SECRET = "nobody-else-should-read-this"
EDITOR = "catalogue@generalization"


@pytest.fixture(autouse=True)
def _nothing_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Only what a test plants."""
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")


@pytest.fixture
def planted() -> Journal:
    return plant(Store(), TABLE)


def numbers(packed: Any) -> np.ndarray:
    """A list of numbers as a figure has it."""
    if isinstance(packed, dict):
        return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    return np.array(packed, float)


def models_of(figure: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """x and y of each model."""
    found = {}
    for trace in figure["data"]:
        if trace.get("mode") == "markers" and "customdata" in trace:
            xy = zip(numbers(trace["x"]), numbers(trace["y"]), strict=True)
            found |= dict(zip(trace["customdata"], xy, strict=True))
    return found


def expected(
    table: pd.DataFrame, question: Question, x: str, y: str
) -> dict[str, tuple[float, float]]:
    """The same, by the statistics."""
    rows = find(table, question).means.rows.dropna(subset=[x, y])
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


def open_catalogue(app: AppTest, patch: pytest.MonkeyPatch) -> AppTest:
    app.session_state[f"{EDITOR}@fold"] = True
    return app.run()


# ---- what it shows


def test_without_a_sweep_it_says_how_to_make_one(open_page: Open) -> None:
    app = open_page("Generalization")
    assert "coupling sweep run sweeps/mini.toml" in app.info[0].value
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
    assert (
        f"**13** models · R² of the line **{answer.fits[0].r_squared:.2f}** · Pearson's *r* "
        f"**{with_minus(f'{r:.2f}')}** · Spearman's *ρ* **{with_minus(f'{rho:.2f}')}**"  # noqa: RUF001
    ) in words(app)
    assert "No p over whole families: " in words(app)  # of three
    assert not app.metric
    told = words(app).replace("\\", "")
    for line in (*once(answer.shows), *once(answer.does_not_show)):
        assert with_minus(line) in told
    assert "**The sweep planted** · 13 models and checkpoints of 3 families · 5 prompts" in told
    (prompts,) = [t for t in figures["prompt"]["data"] if t["name"] == "prompts"]
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
    again = charts(open_page("Generalization", sweep="planted", **link))
    for figures in (charts(app), again):
        performance = expected(TABLE, asked, "coupling", "score")
        assert models_of(figures["performance"]) == performance
        assert len(performance) == 6
        assert models_of(figures["sizes"]) == expected(TABLE, asked, "width", "coupling")
        assert "Coupling of Beta-1 against difficulty" in figures["prompt"]["layout"]["meta"]["alt"]
        assert "Spearman" in figures["families"]["layout"]["xaxis"]["title"]["text"]


def test_the_p_of_the_line_is_over_whole_families(open_page: Open) -> None:
    plant(Store(), sweep_of(zoo(), prompts=5))
    app = open_page("Generalization")
    answer = find(sweep_of(zoo(), prompts=5), Question(4))
    over = answer.fits[0].over_clusters
    assert over.units == 5
    assert f"Over whole families: {over.p_told}." in [caption.value for caption in app.caption]


def test_a_click_on_a_model_shows_its_prompts(
    open_page: Open, planted: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("Generalization")
    events = f"$$STREAMLIT_INTERNAL_KEY_{id_of(app, 'performance@hand')}__events"
    picked = json.dumps([{"event": "picked", "value": ["Alpha-2"]}])
    send(app, monkeypatch, id=events, json_trigger_value=picked)
    assert app.query_params["of"] == "Alpha-2"
    assert "Coupling of Alpha-2 against" in charts(app)["prompt"]["layout"]["meta"]["alt"]


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
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
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


# ---- links that lead nowhere


def test_hostile_values_of_a_link_are_told_and_cost_only_themselves(
    open_page: Open, planted: Journal
) -> None:
    hostile = {
        "sweep": "../../etc",
        "gk": "inf",
        "measure": "<b>",
        "against": "money",
        "subset": "nan",
        "method": "",
        "size": "\0",
        "number": "1e309",
        "of": " ",
    }
    chosen, told = LINKS.read(hostile)
    assert chosen == LINKS.defaults
    assert [problem.split("=")[0] for problem in told] == list(hostile)
    app = open_page("Generalization", **hostile)
    assert "**13** models ·" in words(app)
    assert not app.error
    assert not app.exception


def test_what_a_sweep_does_not_have_gives_way(open_page: Open, planted: Journal) -> None:
    app = open_page("Generalization", gk="7", size="training_tokens", of="nobody<b>")
    assert [warning.value for warning in app.warning] == [
        "Not all models were measured at K = 7: K = 4 is shown."
    ]
    assert (
        "of coupling-explorer/mini-64@step4000 against"
        in (charts(app)["prompt"]["layout"]["meta"]["alt"])
    )
    assert not app.error


def test_a_sweep_that_is_not_there_is_told_and_another_is_shown(
    open_page: Open, planted: Journal
) -> None:
    app = open_page("Generalization", sweep="gone-12345678")
    assert "There is no sweep gone-12345678 here: another one is shown." in app.warning[0].value
    assert "performance" in charts(app)
    assert not app.error
    assert "**13** models ·" in words(app)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty: expected a line of columns"),
        (b"model,k\nx,4\n", "has no column 'id'"),
        (None, "a text where a number belongs"),
    ],
    ids=["empty", "another table", "a text for a number"],
)
def test_a_damaged_table_is_told(
    open_page: Open, planted: Journal, content: bytes | None, told: str
) -> None:
    whole = planted.table.read_bytes()
    planted.table.write_bytes(
        whole.replace(b",depth,4,", b",depth,x,") if content is None else content
    )
    app = open_page("Generalization")
    assert told in app.error[0].value.replace("\\", "")
    assert not app.exception
    assert not app.selectbox  # of the one sweep there is, the name alone


def test_a_table_that_is_written_anew_is_read_anew(open_page: Open, planted: Journal) -> None:
    app = open_page("Generalization")
    plant(Store(), TABLE[TABLE["family"] != "Alpha"])
    assert "**9** models ·" in words(app.run())


# ---- what is not known, and what is in doubt


def test_without_loss_and_score_sizes_and_prompts_are_drawn(open_page: Open) -> None:
    plant(Store(), TABLE.assign(loss=np.nan, score=np.nan))
    app = open_page("Generalization")
    assert app.info[0].value.startswith("0 of these models have a known held-out loss: it takes 3")
    assert list(charts(app)) == ["sizes", "prompt", "trends", "by-k"]
    assert "models ·" not in words(app)
    assert not app.error


def test_a_score_is_looked_at_where_no_loss_is_known(open_page: Open) -> None:
    plant(Store(), TABLE.assign(loss=np.nan))
    app = open_page("Generalization")
    assert "**6** models ·" in words(app)
    assert "leaderboard score correlate" in words(app)
    app = open_page("Generalization", against="loss")
    assert app.info[0].value.startswith("0 of these models have a known held-out loss")
    assert not app.error


def test_few_models_of_one_size_and_one_prompt_draw_nothing_and_say_so(open_page: Open) -> None:
    rows = TABLE[TABLE["model"].isin(["Alpha-0", "Beta-0"]) & (TABLE["k"] == 4)]
    plant(
        Store(), rows[rows["prompt"] == "prompt 1"].assign(parameters=1e9, training_tokens=np.nan)
    )
    app = open_page("Generalization")
    assert not charts(app)
    assert [info.value.split(":")[0].split(",")[0] for info in app.info] == [
        "2 of these models have a known held-out loss",
        "These models have no known size in which they differ.",
        "The prompts of this sweep are too few",
    ]


def test_doubts_stand_above_the_figures(open_page: Open) -> None:
    broken = TABLE.assign(key=TABLE["model"] + TABLE["prompt"])
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    plant(Store(), broken, total=70)
    app = open_page("Generalization")
    assert [warning.value for warning in app.warning] == [
        "3 of 195 rows rest on an SVD that failed its certificate.",
        "2 scores are undefined and are left out of the means.",
        "The means of 1 of 13 models are over fewer than 5 prompts: an interval of so few is wide, "
        "and nothing is claimed of it.",
        "5 of 70 measurements are missing.",
    ]


def test_names_of_others_stay_text(open_page: Open) -> None:
    hostile = "$x$ <script>alert(1)</script> *a* [b](https://example.org)"
    plant(Store(), TABLE.replace({"model": {"Alpha-0": hostile}, "family": {"Beta": hostile}}))
    app = open_page("Generalization", of=hostile)
    assert not app.exception
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
    page = files["Report"].decode()
    assert "<title>The sweep planted</title>" in page
    answer = find(read_table(planted.table), Question(8, against="score", subset="trained"))
    assert f"r = {answer.correlations['pearson'].estimate:.2f}" in page
    assert f"{len(answer.means.rows)} models and checkpoints (trained models only)" in page
    assert files["Means,"].decode().count("\n") == 1 + len(answer.means.rows)


# ---- the catalogue


def test_what_is_edited_is_kept_in_the_users_own_file(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_catalogue(open_page("Generalization"), monkeypatch)
    before = catalogue()
    editor = id_of(app, EDITOR)
    (keep,) = [button for button in app.button if button.label == "Keep these changes"]
    assert keep.disabled
    added = {"model": "me/mine", "parameters": "7", "layers": "2", "width": "8"}
    edits = {"edited_rows": {"0": {"score": "12.5"}}, "added_rows": [added]}
    send(app, monkeypatch, id=editor, string_value=json.dumps(edits))
    (keep,) = [button for button in app.button if button.label == "Keep these changes"]
    assert not keep.disabled
    keep.click()
    send(app, monkeypatch, id=editor, string_value=json.dumps(edits))
    assert not app.exception
    assert f"Kept in {user_cache() / 'models.csv'}." in app.success[0].value.replace("\\", "")
    own = read_catalogue(user_cache() / "models.csv")
    assert [model.id for model in own] == [before[0].id, "me/mine"]
    assert own[0] == replace(before[0], score=12.5)
    assert catalogue() == [own[0], *before[1:], own[1]]


def test_a_cell_that_cannot_be_is_refused_and_nothing_is_kept(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_catalogue(open_page("Generalization"), monkeypatch)
    edits = {"edited_rows": {"1": {"score": "a lot"}}}
    sent_by = {"id": id_of(app, EDITOR), "string_value": json.dumps(edits)}
    send(app, monkeypatch, **sent_by)
    next(button for button in app.button if button.label == "Keep these changes").click()
    send(app, monkeypatch, **sent_by)
    assert "line 2, column score: expected a number from 0 to 100" in app.error[0].value
    assert not (user_cache() / "models.csv").exists()


# ---- sweeps on the Runs page


def note(name: str, failures: int = 0, **state: Any) -> None:
    journal = Journal.of(Store(), name)
    journal.begin({"name": name})
    about = {"title": f"Sweep *{name}*", "total": 10, "stored": 2, "pid": 2**30}
    journal.note(State(name, **about | state), now=True)
    why = f"/home/me/{SECRET} is full"
    journal.note_failures([Failure("a model", SECRET, "depth", why)] * failures)


@pytest.fixture
def noted() -> None:
    """One sweep of each kind."""
    born = psutil.Process().create_time()
    running = {"pid": os.getpid(), "working": ("a_model_", "b*"), "workers": 2}
    note("running", done=3, started=born, updated=born + 30, **running)
    note("done", done=8, started=500.0, updated=560.0, ended="done")
    note("stopped", done=1, started=400.0, updated=460.0, ended="stopped")
    note("killed", done=1, started=300.0, updated=360.0)
    note("broken", done=1, started=200.0, updated=260.0, ended=f"/home/me/{SECRET} is gone")
    note("failed", 2, done=6, failed=2, started=100.0, updated=160.0, ended="done")


LIST = [
    "Runs on 2 workers for 30 s; about 50 s left; a\\_model\\_, b\\*.",
    "Done after 60 s: 8 measured, 2 were stored before, 0 left.",
    "Stopped after 60 s: 1 measured, 2 were stored before, 7 left; the same command goes on from "
    "there.",
    "Ended without a word after 60 s: 1 measured, 2 were stored before, 7 left; the same command "
    "goes on from there.",
    f"Broken off (/home/me/{SECRET} is gone) after 60 s: 1 measured, 2 were stored before, 7 left; "
    "the same command goes on from there.",
    "Done after 60 s: 6 measured, 2 were stored before, 0 left.",
]


def captions(app: AppTest) -> list[str]:
    return [
        caption.value
        for caption in app.caption
        if " after " in caption.value or " for " in caption.value
    ]


def test_sweeps_are_listed_with_how_they_stand(open_page: Open, noted: None) -> None:
    app = open_page("Runs")
    assert not app.exception
    assert captions(app) == LIST
    bars = [node.proto for node in app.get("progress")]
    assert [bar.value for bar in bars] == [50, 100, 30, 30, 30, 100]
    assert bars[0].text == r"**Sweep \*running\***: 5 of 10"
    assert [fold.label for fold in app.main.expander] == ["2 failed"]
    table = app.main.expander[0].dataframe[0].value
    assert list(table["Why"]) == [f"/home/me/{SECRET} is full"] * 2


def test_a_demo_shows_no_prompt_and_no_folder_of_a_sweep(
    open_page: Open, noted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUPLING_MODE", "demo")
    app = open_page("Runs")
    assert not app.exception
    assert SECRET not in sent(app)
    assert captions(app) == [line.replace(f" (/home/me/{SECRET} is gone)", "") for line in LIST]
    app = open_catalogue(open_page("Generalization"), monkeypatch)
    assert not [button for button in app.button if button.label == "Keep these changes"]
    assert "Table of the models in the catalogue" in sent(app)


def test_without_sweeps_the_runs_page_has_no_such_heading(open_page: Open) -> None:
    assert "Sweeps" not in [header.value for header in open_page("Runs").header]
