"""The Training page: its figures are those of the step, and what a run lacks is measured."""

from pathlib import Path

import numpy as np
import pytest
import tiny
from fake_hub import client, lay_out
from handling import labels, press, ran, settled
from handling import numbers as sent
from screen import PAGES, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import Course, Request, Store, View, collect, find_suite, numbers, score_pairs
from coupling_core.analysis.by_step import step_figures
from coupling_core.base.units import with_minus
from coupling_core.engine.loading import loading
from coupling_core.experiments.gallery import EXAMPLES
from explorer.asking.queue import queue
from explorer.pages.training.state import TrainingState
from explorer.pages.training.strip import recipes

pytestmark = pytest.mark.full

VIEW = View(8)
OWN = "The cat sat on the mat"


def course(run: str = "mini-64", prompt: str = EXAMPLES[0], **more: bool) -> Course:
    """What is stored of a run: of the smallest and the first example, what ships."""
    return collect(find_suite(run), Request(prompt, k=8), Store(), **more)


def by_step(of: Course, field: str, view: View = VIEW) -> list[float]:
    return [getattr(found, field) for found in numbers(of, view)]


def line(app: AppTest, figure: str, run: str = "Mini-Pythia, width 64") -> np.ndarray:
    """The numbers of a run by step."""
    (found,) = [t for t in charts(app)[figure]["data"] if t.get("name") == run]
    return sent(found["y"])


def known(app: AppTest, run: str) -> list[int]:
    """Of which of its steps there is a score."""
    return list(np.flatnonzero(~np.isnan(line(app, "corrected", run))))


def test_the_maps_are_those_of_the_nearest_step_which_opens_on_depth(open_page) -> None:
    for asked, step in (("99999", 4000), ("70", 64)):
        app = open_page("Training", step=asked, block="5", basis="3")
        figures = charts(app)
        expected = score_pairs(course().depth[step], VIEW).corrected
        np.testing.assert_allclose(heat(figures["scores"]), coloured(expected), rtol=1e-5)
        for key in ("scores", "graph", "paths"):
            assert f"mini-64@step{step} " in figures[key]["layout"]["meta"]["alt"]
        found = next(n for n in numbers(course(), VIEW) if n.step == step)
        score = with_minus(f"{found.corrected + 0.0:.3f}")
        assert f"score **{score}**" in words(app)
        assert f"loss **{found.loss:.2f}**" in words(app)
    app = press(app, "This step on Depth")
    assert "Block 5 in the basis of block 3" in words(app)
    assert (app.query_params["rev"], app.query_params["k"]) == ("step64", "8")


CURVES = {
    "coupling": {"corrected": "corrected", "loss": "loss"},
    "locality": {"alignment": "alignment", "locality": "locality"},
    "paths": {"line-shape": "line_shape", "expodistance": "expodistance"},
    "spectra": {name: name.replace("-", "_") for name in step_figures("spectrum")},
}


def test_the_curves_are_the_numbers_by_step_and_views_start_no_job(open_page) -> None:
    app = open_page("Training", blocks="9-16")  # which were chosen for a deeper model
    assert not app.error
    assert any("9-16" in one.value for one in app.caption)
    of = course(spectra=True)
    assert not of.missing
    for group, names in CURVES.items():
        app.segmented_control(key="by_step@training").set_value(group).run()
        for figure, field in names.items():
            np.testing.assert_allclose(line(app, figure), by_step(of, field), rtol=1e-5)
    app.text_input(key="blocks@sidebar").set_value("2-5").run()
    assert not any("9-16" in one.value for one in app.caption)
    assert heat(charts(app)["scores"]).shape == (4, 4)
    app.text_input(key="blocks@sidebar").set_value("").run()
    app.segmented_control(key="by_step@training").set_value("coupling").run()
    app.slider(key="suite_k@training").set_value(4).run()
    app.segmented_control(key="raw@training").set_value(True).run()
    app.selectbox(key="definition@sidebar").set_value("page").run()
    view = View(4, "page")
    expected = coloured(score_pairs(of.depth[0], view).coupling)
    np.testing.assert_allclose(line(app, "coupling"), by_step(of, "coupling", view), rtol=1e-5)
    np.testing.assert_allclose(heat(charts(app)["scores"]), expected, rtol=1e-5)
    assert dict(app.query_params) == {"sk": "4", "raw": "1", "def": "page"}
    assert not queue().active()


def test_other_pages_keep_their_k(open_page) -> None:
    app = open_page("Training", k="20")
    assert not [w for w in app.sidebar.number_input if w.key == "k@sidebar"]
    app.slider(key="suite_k@training").set_value(6).run()
    app.switch_page(PAGES["Depth"]).run()
    assert app.number_input(key="k@sidebar").value == 20


def test_a_second_prompt_or_run_is_drawn_over_it(open_page) -> None:
    app = open_page("Training")
    box = app.selectbox(key="over@training")
    assert box.value == "Nothing"
    first, second = "“What is the capital of…”", "“She poured the tea, sat down…”"
    app = box.set_value(second).run()
    assert app.query_params["over-prompt"] == EXAMPLES[1]
    for name, of in ((first, course()), (second, course(prompt=EXAMPLES[1]))):
        expected = by_step(of, "corrected")
        np.testing.assert_allclose(line(app, "corrected", name), expected, rtol=1e-5)
    # the loss is the run's, once, and the maps stay those of the first
    np.testing.assert_allclose(line(app, "loss"), by_step(course(), "loss"), rtol=1e-5)
    assert "scores-mini-64" not in charts(app)

    app = app.selectbox(key="over@training").set_value("Mini-Pythia, width 128").run()
    assert app.query_params["over"] == "mini-128"
    for of in (course(), course("mini-128")):
        for figure in ("corrected", "loss"):
            found = line(app, figure, of.suite.title)
            np.testing.assert_allclose(found, by_step(of, figure), rtol=1e-5)
    app = app.selectbox(key="over@training").set_value("Nothing").run()
    assert "over" not in app.query_params


# ---- several runs, and what they lack


@pytest.fixture
def made(tmp_path: Path) -> dict[str, str]:
    """A second run, of two steps, that was made on this machine."""
    steps = {f"step{n}": tiny.folder(tmp_path / f"step{n}", "gpt_neox", n) for n in (4, 8)}
    return lay_out(tmp_path / "home" / "suites", steps, "coupling-explorer/mini-128")


def test_runs_stand_side_by_side(open_page, made) -> None:
    app = open_page("Training")
    app.multiselect(key="suites@sidebar").set_value(["mini-64", "mini-128"]).run()
    assert app.query_params["suites"] == "mini-64,mini-128"
    assert "scores-mini-64" in charts(app)
    assert "15 of 15 steps" in words(app)
    assert "`python -m studies.pretraining mini-128`" in words(app)
    assert known(app, "Mini-Pythia, width 128") == []
    app.multiselect(key="suites@sidebar").set_value([]).run()
    assert app.multiselect(key="suites@sidebar").value == ["mini-64", "mini-128"]  # none is none


def test_one_step_is_measured_and_then_one_fails(open_page, made, tmp_path) -> None:
    app = open_page("Training", suites="mini-128", prompt=OWN, step="8")
    assert {"Compute step 8", "Compute all 2 steps"} <= set(labels(app))
    app = settled(press(app, "Compute step 8"))
    assert not app.error
    measured = course("mini-128", OWN)
    assert list(measured.depth) == list(measured.paths) == [8]
    expected = score_pairs(measured.depth[8], VIEW).corrected
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(expected), rtol=1e-5)
    assert "paths" in charts(app)
    at = find_suite("mini-128").steps.index(8)
    assert known(app, "Mini-Pythia, width 128") == [at]
    assert "14 of 15 steps" in words(app)

    snapshot = tmp_path / "home/suites" / "models--coupling-explorer--mini-128" / "snapshots"
    weights = (snapshot / made["step4"] / "model.safetensors").resolve()
    whole = weights.read_bytes()
    weights.write_bytes(b"damaged")
    loading.forget()  # another test's commits have the same names
    app = settled(press(app, "Compute all"))
    assert len(app.error) == 1
    assert "14 of 15 steps" in words(app)
    weights.write_bytes(whole)
    app = settled(press(app, "Compute all"))
    assert not app.error
    assert "13 of 15 steps" in words(app)
    assert not [label for label in labels(app) if label.startswith("Compute")]


# ---- a suite of the hub


def test_a_hub_suite_runs_offline_on_what_is_here(
    in_this_process, open_page, tmp_path, monkeypatch
) -> None:
    client(monkeypatch, tmp_path)
    folder = tiny.folder(tmp_path / "end", "gpt_neox")
    lay_out(tmp_path / "hub", {"step0": folder, "step143000": folder}, "EleutherAI/pythia-2.8b")
    app = open_page("Training", suites="pythia-2.8b", prompt=OWN, step="0")
    assert "**154 of 154 steps**" in words(app)
    assert "about 5.7 GB each" in words(app)
    assert len(app.main.warning) == 1
    app = settled(press(app, "Compute the 2 steps on this disk"))
    assert not app.error
    assert "**152 of 154 steps**" in words(app)
    assert len(known(app, "Pythia 2.8B")) == 2
    assert "step0 " in charts(app)["scores"]["layout"]["meta"]["alt"]
    assert "Steps 0, 143000" in app.main.warning[1].value  # which hold the same weights
    app = press(app, "Compute all 152 steps")
    assert "pythia-2.8b" in app.error[0].value
    assert not queue().active()


# ---- recipes


def test_the_python_recipe_prints_the_numbers() -> None:
    state = TrainingState(prompt=EXAMPLES[0], suite_k=5, definition="page")
    program, _ = recipes([course().suite], state)
    _, printed = ran(program)
    for found in numbers(course(), View(5, "page")):
        assert str(found) in printed
