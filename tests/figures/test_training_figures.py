"""Figures over training steps: one axis, one range, and gaps where nothing is measured."""

from dataclasses import replace

import numpy as np
import pytest
import training
from cases import VIEW
from checks import trace
from training import REQUEST, SUITE

from coupling_core import PathView, View, figures, numbers
from coupling_core.analysis import step_words
from coupling_core.analysis.by_step import StepNumbers, step_columns, step_figures
from coupling_core.analysis.projection import project_paths, project_steps
from coupling_core.figures import style
from coupling_core.figures.export import on_paper
from coupling_core.figures.training import STEP_0, step_axis
from coupling_core.measuring.stored_steps import collect

NAMES = step_figures()


@pytest.fixture
def course(monkeypatch, tmp_path):
    training.lay_out(monkeypatch, tmp_path)
    return collect(SUITE, REQUEST, training.stored(tmp_path))


def changed(numbers, **values):
    return StepNumbers(numbers.step, {**numbers.values, **values})


@pytest.fixture
def runs(course):
    """The planted run, and the same half as coupled."""
    own = [
        changed(n, departure=0.1 + at / 10, u_dot_v=-at / 10, effective_rank=3.0 + at)
        for at, n in enumerate(numbers(course, VIEW))
    ]
    other = [changed(n, corrected=n.corrected / 2, chance=0.1) for n in own]
    return {"Tiny run": own, "Other run": other}


def test_each_run_is_a_line_over_its_steps_with_gaps_and_a_mark_moves_no_axis(runs):
    for name in NAMES:
        field = name.replace("-", "_")
        figure, *marked = (figures.by_step(runs, name, VIEW, step=s) for s in (None, 0, 4))
        for title, run in runs.items():
            line = trace(figure, title)
            np.testing.assert_array_equal(line.y, [getattr(n, field) for n in run])
            np.testing.assert_array_equal(line.x, [STEP_0, 1, 2, 4])
            assert list(line.customdata) == list(SUITE.steps)
            assert not line.connectgaps
        (bounds,) = {one.layout.yaxis.range for one in (figure, *marked)}
        values = np.array([getattr(n, field) for run in runs.values() for n in run])
        low, high = (
            10 ** np.array(bounds) if step_columns()[name.replace("-", "_")].column.log else bounds
        )
        assert low < np.nanmin(values) <= np.nanmax(values) < high
        chance = [set(t.y) for t in figure.data if t.name == "chance"]
        if name in ("corrected", "alignment", "locality"):
            assert chance == [{0.0}]
        if name in ("loss", "line-shape", "expodistance"):
            assert chance == []
    title = figures.by_step(runs, "corrected", View(k=3)).layout.yaxis.title.text
    assert style.score_terms(View(k=3)) in title
    table = figures.steps_table(runs)
    assert list(table["run"]) == ["Tiny run"] * 4 + ["Other run"] * 4
    np.testing.assert_array_equal(table["corrected"][:4], [n.corrected for n in runs["Tiny run"]])


def test_raw_scores_have_each_their_own_floor(runs):
    figure = figures.by_step(runs, "coupling", VIEW)
    floors = [t for t in figure.data if t.name == "chance"]
    for floor, (title, run) in zip(floors, runs.items(), strict=True):
        np.testing.assert_array_equal(floor.y, [n.chance for n in run])
        assert floor.line.color == trace(figure, title).line.color


def test_the_current_step_is_marked_on_every_run(runs):
    figure = figures.by_step(runs, "corrected", VIEW, step=0)
    assert [shape.x0 for shape in figure.layout.shapes] == [STEP_0]
    marks = trace(figures.by_step(runs, "corrected", VIEW, step=1), "current")
    assert list(marks.x) == [1, 1]
    assert list(marks.y) == [run[1].corrected for run in runs.values()]
    assert "current" not in {t.name for t in figures.by_step(runs, "corrected", VIEW).data}


def test_axes_of_any_steps_have_their_powers_of_ten():
    for steps, texts in (
        (SUITE.steps, ["0", "1", "10"]),
        ([0], ["0", "1"]),
        ([0, 4000], ["0", "1", "10", "100", "1,000", "10,000"]),
    ):
        axis = step_axis(steps)
        assert list(axis["ticktext"]) == texts
        assert axis["tickvals"][0] == STEP_0
        low, high = axis["range"]
        assert low < np.log10(STEP_0) <= np.log10(max(*steps, STEP_0)) < high


def test_what_figures_of_training_say(course, snapshot):
    heights = {0: 0.0, 1: 0.5, 2: np.nan, 4: 0.25}
    nothing = dict.fromkeys(step_columns(), np.nan)
    run = [StepNumbers(s, nothing | {"corrected": c}) for s, c in heights.items()]
    projected = project_steps(course.paths, PathView())
    shown = {
        name: figures.by_step({"Run": run}, name, VIEW)
        for name in ("corrected", "coupling", "loss")
    }
    shown["paths"] = figures.paths_at(projected, 4, token=4)
    assert figures.by_step({"Run": run}, "expodistance", VIEW).layout.yaxis.type == "log"
    assert {name: dict(figure.layout.meta) for name, figure in shown.items()} == snapshot


def test_a_file_says_which_runs_and_how_many_steps(course, runs):
    source = figures.training_source([course], VIEW)
    assert "SVDs certified" in source
    figure = figures.by_step(runs, "corrected", VIEW, source=source)
    (notes,) = [n.text for n in on_paper(figure, course.depth[0], VIEW).layout.annotations]
    assert "3 of 4 steps" in notes
    bad = replace(course.depth[1].certificates[0], certified=False, reason="planted")
    mixed = replace(course.depth[1], certificates=(bad,))
    spoilt = replace(course, depth=course.depth | {1: mixed})
    assert "not all certified" in figures.training_source([spoilt], VIEW)
    assert figures.training_source([replace(course, depth={}, paths={})], VIEW) == ""
    paths = figures.training_source([replace(course, depth={})], PathView())
    assert "2 of 4 steps" in paths


def test_components_do_not_flip_from_step_to_step(course):
    (first, one), (last, other) = sorted(course.paths.items())
    mirrored = replace(other, states=one.states * -1)  # the same paths, seen from behind
    found = project_steps({last: mirrored, first: one}, PathView())
    own = project_paths(one, PathView()).coordinates
    np.testing.assert_array_equal(found[first].coordinates, own)
    np.testing.assert_allclose(found[last].coordinates, own, atol=1e-3)
    assert np.abs(project_paths(mirrored, PathView()).coordinates - own).max() > 1


@pytest.mark.parametrize("dimensions", [2, 3])
def test_paths_keep_their_axes_over_all_steps(course, dimensions):
    for view in (PathView(), PathView("all", "deeper", False)):
        projected, axes = project_steps(course.paths, view), []
        for step in course.paths:
            figure = figures.paths_at(projected, step, token=4, dimensions=dimensions)
            walked = projected[step].coordinates[:-1, list(projected[step].tokens).index(4), 0]
            np.testing.assert_allclose(trace(figure, "4").x, walked, rtol=1e-5)
            scene = figure.layout.scene if dimensions == 3 else figure.layout
            axes.append([tuple(scene[f"{name}axis"].range) for name in "xyz"[:dimensions]])
        assert axes[0] == axes[1]
        for i, (low, high) in enumerate(axes[0]):
            every = np.concatenate([p.coordinates[..., i].ravel() for p in projected.values()])
            assert low < every.min() < every.max() < high


def at(step: int, corrected: float, loss: float = np.nan) -> StepNumbers:
    return StepNumbers(step, {"loss": loss, "corrected": corrected})


def test_rise_and_fall_are_told(snapshot):
    courses = {
        "rises and falls": [(0, 0.0, 7.0), (8, 0.3, 5.0), (64, 0.1, 3.0)],
        "rises": [(2, 0.1), (8, 0.25), (64, 0.3)],
        "hardly falls": [(0, 0.0), (8, 0.1), (64, 0.3), (128, 0.2), (256, 0.29)],
        "falls": [(0, 0.3), (8, 0.2), (64, 0.1)],
        "too few": [(0, 0.3), (8, np.nan), (64, 0.1)],
    }
    told = {
        name: step_words.rise_and_fall([at(*one) for one in run]) for name, run in courses.items()
    }
    falls = {name for name, words in told.items() if "then falls" in words}
    assert falls == {"rises and falls", "hardly falls", "falls"}
    assert told["too few"] == ""
    assert told == snapshot


def test_two_runs_are_compared_at_the_steps_that_both_have():
    low = [at(0, 0.0, 5.0), at(1, 0.10, 4.0), at(2, 0.05, 3.0), at(4, np.nan)]
    high = [at(0, -0.01, 5.0), at(1, 0.15, 4.5), at(2, 0.25, 2.5)]
    told = step_words.compared({"low": low, "high": high})
    assert told.startswith("high is coupled more than low at 2 of the 3 steps")
    for number in ("0.080", "0.250 (step 2)", "0.100 (step 1)", "2.50 and 3.00"):
        assert number in told
    assert step_words.compared({"high": high, "low": low}) == told
    for runs in ({"low": low}, {"a": low, "b": high, "c": high}, {"low": low[:2], "high": high}):
        assert step_words.compared(runs) == ""
