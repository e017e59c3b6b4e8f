"""Figures of trajectories: what is drawn, where, and in which words."""

from dataclasses import replace

import numpy as np
import pytest
from cases import trajectory_result

from coupling_core import PathView, figures, project_paths
from coupling_core.analysis.path_curves import median
from coupling_core.analysis.scaling import inverse_fits
from coupling_core.base.drawing import drawn
from coupling_core.base.numbers import array_of
from coupling_core.figures.curves import numbers_table
from coupling_core.figures.paths import MOST, PICKS, chosen_tokens, draw, paths_apart
from coupling_core.figures.words import label
from coupling_core.kinds.trajectory.command import CURVES

VIEW = PathView(first=False)
RESULT = trajectory_result()
_OTHER = trajectory_result(seed=1)
TWIN = replace(_OTHER, request=replace(_OTHER.request, untrained=0))
NEAR = replace(TWIN, states=TWIN.states / 100)


def trace(figure, uid):
    (found,) = [t for t in figure.data if uid in (t.uid, t.name)]
    return found


def test_paths_without_the_final_norm_are_whole():
    plain = replace(RESULT, request=replace(RESULT.request, final_norm="exclude"))
    for one, view, last in ((plain, VIEW, 12), (RESULT, PathView(part="shallower"), 6)):
        figure = figures.paths(one, view, token=4)
        assert trace(figure, "4").customdata[-1] == last
        assert "normed" not in [t.name for t in figure.data]


def test_a_click_anywhere_on_a_path_has_its_token():
    figure = figures.paths(RESULT, VIEW, token=2)
    picks = trace(figure, "picks")
    for x, y, number in zip(picks.x, picks.y, picks.customdata, strict=True):
        path = trace(figure, str(number))
        rings = trace(figure, "selected normed" if number == 2 else "normed")
        at = np.r_[path.x, rings.x], np.r_[path.y, rings.y]
        assert min(np.hypot(at[0] - x, at[1] - y)) < 1e-4
        assert path.hoverinfo == "skip"  # or it would take the click
    assert set(picks.customdata) == set(range(2, 7))
    assert picks.hovertext[0] == "“word2”<br>state x<sup>12</sup>"


def test_a_long_prompt_has_a_bounded_number_of_paths_and_points():
    figure = figures.paths(trajectory_result(n_tokens=200), VIEW, token=101)
    names = [t.name for t in figure.data if t.name.isdigit()]
    assert len(names) <= MOST
    assert "101" in names
    assert len(trace(figure, "picks").x) <= PICKS
    assert f"{len(names)} of them" in figure.layout.meta["caption"]
    assert chosen_tokens(np.arange(2, 201), 101).size <= MOST


def test_what_figures_of_paths_say(snapshot):
    short = replace(RESULT, states=RESULT.states[:, [0, 4, 5]], kept=np.array([1, 5, 6]))
    rested = replace(RESULT, norms=np.where(np.arange(6) == 2, 1, RESULT.norms))
    onto = project_paths(TWIN, onto=project_paths(RESULT, VIEW))
    shown = {
        "paths": figures.paths(RESULT, VIEW, token=2),
        "paths in 3 dimensions": figures.paths(RESULT, VIEW, token=2, dimensions=3),
        "some states are kept": figures.paths(short, VIEW, token=6),
        "no expodistance": drawn(rested, VIEW, "expodistance", token=1),
        "far less beside": figures.paths(RESULT, VIEW, token=2, twin=NEAR),
        "in another's components": draw(onto, token=2),
        "twin": drawn(RESULT, VIEW, "norms", token=3, twin=TWIN),
    }
    texts = (" capital", "\n\n", "   ", "a  b", "", "🦜", "<b>", "Donaudampfschifffahrt")
    said = {name: dict(figure.layout.meta) for name, figure in shown.items()}
    assert {"figures": said, "texts": {text: label(text) for text in texts}} == snapshot


def test_two_tokens_are_drawn_along_the_one_component_that_there_is():
    figure = figures.paths(trajectory_result(n_tokens=2), PathView(first=True), token=2)
    assert "there is none" in figure.layout.yaxis.title.text
    assert not np.any(trace(figure, "2").y)


def test_two_results_stand_apart_and_why_one_has_no_components_stands_in_its_own_half():
    alone = trajectory_result(n_tokens=1)
    for both, axis in (((alone, RESULT), "x"), ((RESULT, alone), "x2")):
        whole = paths_apart(*both, PathView(first=True), token=1)
        own = figures.paths(RESULT, PathView(first=True), token=1)
        drawn = next(t for t in whole.data if t.name == "3")
        np.testing.assert_array_equal(drawn.x, trace(own, "3").x)
        why = whole.layout.annotations[-1]
        assert (drawn.xaxis, why.xref) == ({"x": "x2", "x2": "x"}[axis], f"{axis} domain")


def test_numbers_by_depth_are_drawn_and_tabled():
    for name, spec in CURVES.items():
        figure = drawn(RESULT, VIEW, name, token=3, twin=TWIN)
        own, selected = array_of(RESULT, VIEW, spec.numbers[0]), trace(figure, "selected")
        np.testing.assert_allclose(selected.y, own[:, 2])
        assert (selected.x[0], selected.x[-1]) == (spec.first, 12)
        np.testing.assert_allclose(trace(figure, "median").y, median(own))
        beside = median(array_of(TWIN, VIEW, spec.numbers[0]))
        np.testing.assert_allclose(trace(figure, "twin").y, beside)
        np.testing.assert_allclose(numbers_table(RESULT, VIEW, spec).to_numpy(), own)
        assert figure.layout.yaxis.title.text
    many = trajectory_result(n_tokens=60)  # drawn as a range
    figure = drawn(many, VIEW, "norms", token=3)
    high = np.quantile(many.norms, 0.9, axis=1)
    band = trace(figure, "80\u00a0% of the tokens").y
    np.testing.assert_allclose(band[13:][::-1], high, rtol=1e-6)
    assert not [t for t in figure.data if t.uid == "tokens"]


def test_curves_are_what_their_names_say():
    found = {name: array_of(RESULT, VIEW, spec.numbers[0]) for name, spec in CURVES.items()}
    np.testing.assert_array_equal(found["norms"], RESULT.norms)
    np.testing.assert_allclose(found["growth"], np.log(RESULT.norms[1:] / RESULT.norms[:-1]))
    assert found["steps"].mean(0) == pytest.approx(1)
    np.testing.assert_array_equal(found["line-shape-by-depth"], RESULT.windowed_line_shape)


def test_singular_values_that_scale_inversely_with_depth_have_inverses_on_a_line():
    s = 1 / (np.arange(1, 8)[:, None] * np.array([0.5, 2.0]))
    inverse, lines = inverse_fits(s)
    assert [line.slope for line in lines] == pytest.approx([0.5, 2.0])
    assert [line.intercept for line in lines] == pytest.approx([0, 0], abs=1e-12)
    assert inverse[0] == pytest.approx([0.5, 2.0])
    assert np.isnan(inverse_fits(np.array([[1.0], [0.0]]))[0][1, 0])
