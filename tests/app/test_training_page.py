"""The Training page: its figures are those of the step, and what a run lacks is measured."""

import io
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import tiny
from fake_hub import lay_out
from handling import numbers as sent
from handling import press, settled
from screen import PAGES, Open, charts, coloured, heat, words
from streamlit.testing.v1 import AppTest

from coupling_core import Course, Request, Store, View, collect, find_suite, numbers, score_pairs
from coupling_core.engine.loading import loading
from coupling_core.experiments.gallery import EXAMPLES
from explorer.asking.queue import queue
from explorer.pages.training.state import TrainingState
from explorer.pages.training.strip import recipes
from explorer.session.plain_text import with_minus

pytestmark = pytest.mark.full

VIEW = View(8)
OWN = "The cat sat on the mat"


@pytest.fixture
def course() -> Course:
    """What ships of the smallest run, for the first example."""
    return collect(find_suite("mini-64"), Request(EXAMPLES[0], k=8), Store())


@pytest.fixture
def made(tmp_path: Path) -> dict[str, str]:
    """A second run, of two steps, that was made on this machine."""
    steps = {
        f"step{step}": tiny.folder(tmp_path / f"step{step}", "gpt_neox", step) for step in (4, 8)
    }
    return lay_out(tmp_path / "home" / "suites", steps, "coupling-explorer/mini-128")


def line(app: AppTest, figure: str, run: str = "Mini-Pythia, width 64") -> np.ndarray:
    """The numbers of a run by step."""
    (found,) = [t for t in charts(app)[figure]["data"] if t.get("name") == run]
    return sent(found["y"])


def buttons(app: AppTest) -> list[str]:
    """What can be measured, and how a job is ended."""
    labels = [button.label for button in app.main.button]
    return [label for label in labels if not label.startswith("Add this to a lesson")]


@pytest.mark.parametrize(("asked", "step"), [("70", 64), ("99999", 4000)])
def test_the_maps_are_those_of_the_step_or_the_nearest(
    open_page: Open, course: Course, asked: str, step: int
) -> None:
    app = open_page("Training", step=asked)
    figures = charts(app)
    expected = score_pairs(course.depth[step], VIEW).corrected
    np.testing.assert_allclose(heat(figures["scores"]), coloured(expected), rtol=1e-5)
    for key in ("scores", "graph", "paths"):
        assert f"mini-64@step{step} " in figures[key]["layout"]["meta"]["alt"]
    found = next(n for n in numbers(course, VIEW) if n.step == step)
    score = with_minus(f"{found.corrected + 0.0:.3f}")
    assert f"score **{score}**" in words(app)
    assert f"loss **{found.loss:.2f}**" in words(app)


CURVES = {
    "coupling": {"corrected": "corrected", "loss": "loss"},
    "locality": {"alignment": "alignment", "locality": "locality"},
    "paths": {"line-shape": "line_shape", "expodistance": "expodistance"},
    "spectra": {"departure": "departure", "effective-rank": "effective_rank"},
}


def test_the_curves_are_the_numbers_by_step(open_page: Open, course: Course) -> None:
    course = collect(course.suite, course.request, Store(), spectra=True)
    assert not course.missing
    app = open_page("Training")
    for group, names in CURVES.items():
        app.segmented_control(key="by_step@training").set_value(group).run()
        assert not app.exception
        for figure, field in names.items():
            expected = [getattr(n, field) for n in numbers(course, VIEW)]
            np.testing.assert_allclose(line(app, figure), expected, rtol=1e-5)


def test_views_change_the_figures_and_start_no_job(open_page: Open, course: Course) -> None:
    app = open_page("Training")
    app.slider(key="suite_k@training").set_value(4).run()
    app.segmented_control(key="raw@training").set_value(True).run()
    app.selectbox(key="definition@sidebar").set_value("page").run()
    view = View(4, "page")
    found = [n.coupling for n in numbers(course, view)]
    np.testing.assert_allclose(line(app, "coupling"), found, rtol=1e-5)
    np.testing.assert_allclose(
        heat(charts(app)["scores"]),
        coloured(score_pairs(course.depth[0], view).coupling),
        rtol=1e-5,
    )
    assert dict(app.query_params) == {"sk": "4", "raw": "1", "def": "page"}
    assert not queue().active()


def test_blocks_that_were_chosen_for_a_deeper_model_do_not_cost_the_page(
    open_page: Open, course: Course
) -> None:
    app = open_page("Training", blocks="9-16")
    assert not app.error
    assert any("9-16" in one.value for one in app.caption)
    expected = [n.corrected for n in numbers(course, VIEW)]
    np.testing.assert_allclose(line(app, "corrected"), expected, rtol=1e-5)
    app.text_input(key="blocks@sidebar").set_value("2-5").run()
    assert not any("9-16" in one.value for one in app.caption)
    assert heat(charts(app)["scores"]).shape == (4, 4)


def test_a_step_opens_on_depth(open_page: Open) -> None:
    app = press(open_page("Training", step="64", block="5", basis="3"), "This step on Depth")
    assert "Block 5 in the basis of block 3" in words(app)
    assert app.query_params["rev"] == "step64"
    assert app.query_params["k"] == "8"
    app = open_page("Training", k="20")
    assert not [w for w in app.sidebar.number_input if w.key == "k@sidebar"]
    app.slider(key="suite_k@training").set_value(6).run()
    app.switch_page(PAGES["Depth"]).run()
    assert app.number_input(key="k@sidebar").value == 20  # other pages keep theirs


# ---- several runs, and what they lack


def test_runs_stand_side_by_side(open_page: Open, made: dict[str, str]) -> None:
    app = open_page("Training")
    app.multiselect(key="suites@sidebar").set_value(["mini-64", "mini-128"]).run()
    assert app.query_params["suites"] == "mini-64,mini-128"
    assert "scores-mini-64" in charts(app)
    assert "15 of 15 steps" in words(app)
    assert "`coupling suite train mini-128`" in words(app)
    assert np.isnan(line(app, "corrected", "Mini-Pythia, width 128")).all()
    app.multiselect(key="suites@sidebar").set_value([]).run()
    assert app.multiselect(key="suites@sidebar").value == ["mini-64", "mini-128"]  # none is none


def test_one_step_is_measured(open_page: Open, made: dict[str, str]) -> None:
    app = open_page("Training", suites="mini-128", prompt=OWN, step="8")
    assert buttons(app)[-2:] == ["Compute step 8", "Compute all 2 steps"]
    app = settled(press(app, "Compute step 8"))
    assert not app.error
    measured = collect(find_suite("mini-128"), Request(OWN, k=8), Store())
    assert list(measured.depth) == list(measured.paths) == [8]
    expected = score_pairs(measured.depth[8], VIEW).corrected
    np.testing.assert_allclose(heat(charts(app)["scores"]), coloured(expected), rtol=1e-5)
    assert "paths" in charts(app)
    known = ~np.isnan(line(app, "corrected", "Mini-Pythia, width 128"))
    assert list(np.flatnonzero(known)) == [find_suite("mini-128").steps.index(8)]
    assert "14 of 15 steps" in words(app)
    app = settled(press(app, "Compute all"))
    assert "13 of 15 steps" in words(app)
    assert not [label for label in buttons(app) if label.startswith("Compute")]


def test_what_fails_is_told_until_the_next_attempt(
    open_page: Open, made: dict[str, str], tmp_path: Path
) -> None:
    weights = next((tmp_path / "home").rglob("snapshots/*/model.safetensors")).resolve()
    weights.write_bytes(b"damaged")
    loading.forget()  # another test's commits have the same names
    app = open_page("Training", suites="mini-128", prompt=OWN, step="8")
    app = settled(press(app, "Compute all 2 steps"))
    assert len(app.error) == 1
    assert "14 of 15 steps" in words(app)


# ---- a second run in the curves


def test_another_prompt_of_the_run_is_drawn_over_it(open_page: Open, course: Course) -> None:
    app = open_page("Training")
    box = app.selectbox(key="over@training")
    assert box.value == "Nothing"
    second = "“She poured the tea, sat down…”"
    assert second in box.options
    app = box.set_value(second).run()
    assert app.query_params["over-prompt"] == EXAMPLES[1]
    other = collect(find_suite("mini-64"), Request(EXAMPLES[1], k=8), Store())
    first = "“What is the capital of…”"
    for name, of in ((first, course), (second, other)):
        expected = [n.corrected for n in numbers(of, VIEW)]
        np.testing.assert_allclose(line(app, "corrected", name), expected, rtol=1e-5)
    losses = [n.loss for n in numbers(course, VIEW)]
    np.testing.assert_allclose(line(app, "loss"), losses, rtol=1e-5)  # the run's, once
    assert "scores-mini-64" not in charts(app)  # the maps stay those of the first


def test_another_run_is_drawn_over_it_and_compared(open_page: Open, course: Course) -> None:
    app = open_page("Training")
    app = app.selectbox(key="over@training").set_value("Mini-Pythia, width 128").run()
    assert app.query_params["over"] == "mini-128"
    other = collect(find_suite("mini-128"), Request(EXAMPLES[0], k=8), Store())
    for of in (course, other):
        for figure in ("corrected", "loss"):
            expected = [getattr(n, figure) for n in numbers(of, VIEW)]
            np.testing.assert_allclose(line(app, figure, of.suite.title), expected, rtol=1e-5)
    app = app.selectbox(key="over@training").set_value("Nothing").run()
    assert "over" not in app.query_params


# ---- a suite of the hub


@pytest.fixture
def hub(in_this_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty cache of a hub that is out of reach."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def test_a_hub_suite_runs_offline_on_what_is_here(
    open_page: Open, tmp_path: Path, hub: Path
) -> None:
    steps = {f"step{s}": tiny.folder(tmp_path / f"{s}", "gpt_neox", s) for s in (0, 1000, 143000)}
    lay_out(hub, steps, "EleutherAI/pythia-70m")
    app = open_page("Training", suites="pythia-70m", prompt=OWN, step="1000")
    assert "**154 of 154 steps**" in words(app)
    app = settled(press(app, "Compute the 3 steps on this disk"))
    assert not app.error
    assert "**151 of 154 steps**" in words(app)
    found = line(app, "corrected", "Pythia 70M")
    assert (~np.isnan(found)).sum() == 3
    assert len(set(found[~np.isnan(found)])) == 3
    assert "step1000 " in charts(app)["scores"]["layout"]["meta"]["alt"]
    app = press(app, "Compute all 151 steps")
    assert "pythia-70m" in app.error[0].value
    assert not queue().active()


def test_what_speaks_against_a_run_is_told(open_page: Open, tmp_path: Path, hub: Path) -> None:
    folder = tiny.folder(tmp_path / "end", "gpt_neox")
    lay_out(hub, {"step0": folder, "step143000": folder}, "EleutherAI/pythia-2.8b")
    app = open_page("Training", suites="pythia-2.8b", prompt=OWN, step="0")
    assert len(app.main.warning) == 1
    assert "about 5.7 GB each" in words(app)
    app = settled(press(app, "Compute the 2 steps on this disk"))
    assert len(app.main.warning) == 2
    assert "Steps 0, 143000" in app.main.warning[1].value  # which hold the same weights


# ---- recipes


def test_the_python_recipe_prints_the_numbers(course: Course) -> None:
    state = TrainingState(prompt=EXAMPLES[0], suite_k=5, definition="page")
    program, _ = recipes([course.suite], state)
    with redirect_stdout(io.StringIO()) as printed:
        exec(program, {})
    for found in numbers(course, View(5, "page")):
        assert str(found) in printed.getvalue()
