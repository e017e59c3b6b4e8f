"""What the store has of a training run, and the numbers by step."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import training
from cases import SCORES, VIEW, planted, spectrum_result, trajectory_result
from training import REQUEST, SUITE

from coupling_core import Request, Store, View, find_suite
from coupling_core.analysis.by_step import (
    Course,
    doubt,
    numbers,
    step_columns,
)
from coupling_core.analysis.spectra import effective_rank
from coupling_core.analysis.trajectory import expodistance
from coupling_core.experiments.gallery import EXAMPLES, TRAINING
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import DEFAULT_SUITE

OFF = ~np.eye(len(SCORES), dtype=bool)
APART = np.abs(np.subtract.outer(range(len(SCORES)), range(len(SCORES))))


@pytest.fixture
def store(monkeypatch, tmp_path):
    training.lay_out(monkeypatch, tmp_path)
    return training.stored(tmp_path)


def of_scores(scores):
    """The numbers of a run of one step with these scores."""
    (one,) = numbers(Course(SUITE, REQUEST, (4,), {4: planted(scores)}, {}), VIEW)
    return one


def test_what_is_stored_is_found_and_what_is_not_is_missing(store):
    course = collect(SUITE, REQUEST, store)
    assert course.steps == SUITE.steps
    assert (set(course.depth), set(course.paths)) == ({0, 1, 4}, {0, 4})
    assert course.missing == (1, 2)
    for step, result in course.depth.items():
        assert result.identity["digest"] == training.commit(step)
        np.testing.assert_array_equal(result.diagonal, training.depth_of(step).diagonal)


def test_spectra_belong_to_it_where_they_are_asked_for(store):
    asked = SUITE.request(REQUEST, 4).of_kind("spectrum")
    kept = spectrum_result(request=asked, identity=resolve(asked).identity)
    store.put(replace(kept, key=store.key(kept.request, kept.identity)))
    plain, course = (collect(SUITE, REQUEST, store, spectra=on) for on in (False, True))
    assert (plain.missing, course.missing) == ((1, 2), (0, 1, 2))
    assert [request.kind for request in course.lacking(0)] == ["spectrum"]
    assert [request.kind for request in course.lacking(2)] == ["depth", "trajectory", "spectrum"]
    told = numbers(course, VIEW)[-1]
    assert told.departure == np.median(kept.departure)
    assert told.u_dot_v == np.median(kept.u_dot_v.mean(1))
    assert told.effective_rank == effective_rank(kept.product_values)[-1]
    assert np.isnan(numbers(course, VIEW)[0].departure)
    assert np.isnan(numbers(plain, VIEW)[-1].departure)


def test_the_model_of_the_request_does_not_matter_and_steps_can_be_chosen(store):
    asked = replace(REQUEST, model="someone/else", revision="main", token=-1)
    assert set(collect(SUITE, asked, store).depth) == {0, 1, 4}
    assert not collect(SUITE, replace(REQUEST, token=2), store).depth
    course = collect(SUITE, REQUEST, store, steps=(4, 2, 4))
    assert (course.steps, set(course.depth), course.missing) == ((2, 4), {4}, (2,))
    unknown = replace(SUITE, steps=(*SUITE.steps, 8))  # whose commit nobody knows
    assert collect(unknown, REQUEST, store).missing == (1, 2, 8)


def test_steps_that_serve_the_same_weights_are_told(store):
    course = collect(SUITE, REQUEST, store)
    assert course.alike == ()
    assert doubt(course) == ""
    depth = course.depth
    twins = replace(course, depth={0: depth[0], 1: depth[1], 2: depth[1], 4: depth[0]})
    assert twins.alike == ((0, 4), (1, 2))
    assert doubt(twins).startswith("steps 0, 4 hold the same weights; steps 1, 2 hold the same")
    many = replace(course, depth=dict.fromkeys(range(20), depth[0]))
    assert doubt(many).startswith("20 steps from 0 to 19")


def test_numbers_are_means_off_the_diagonal(store):
    measured = numbers(collect(SUITE, REQUEST, store), VIEW)
    assert [one.step for one in measured] == [0, 1, 2, 4]
    near = SCORES[APART == 1].mean() - SCORES[APART > 1].mean()
    for found, strength in ((measured[0], 0.0), (measured[1], 0.5), (measured[3], 1.0)):
        expected = pytest.approx(strength * SCORES[OFF].mean(), abs=1e-6)
        assert (found.coupling, found.corrected, found.alignment) == (expected,) * 3
        assert found.chance == 0
        assert found.locality == pytest.approx(strength * near, abs=1e-6)
    np.testing.assert_array_equal([one.loss for one in measured], [6.0, np.nan, 4.9, 4.5])


def test_what_is_not_measured_has_no_number(store):
    _, second, third, last = numbers(collect(SUITE, REQUEST, store), VIEW)
    assert np.isnan([third.coupling, third.chance, third.corrected, third.locality]).all()
    assert np.isnan([second.line_shape, third.line_shape, second.expodistance]).all()
    paths = training.paths_of(4)
    assert last.line_shape == pytest.approx(paths.line_shape.mean())
    assert last.expodistance == pytest.approx(expodistance(paths.norms).mean())


def test_alignment_is_there_whatever_the_definition(store):
    (paper,) = numbers(collect(SUITE, REQUEST, store, (4,)), View(k=3))
    (aligned,) = numbers(collect(SUITE, REQUEST, store, (4,)), View(k=3, definition="alignment"))
    assert paper.alignment == aligned.coupling
    assert paper.coupling != aligned.coupling


@pytest.mark.parametrize(
    ("scores", "locality"),
    [
        (np.where(OFF, 0.5, 1.0), 0.0),  # the same at every distance
        (np.where(APART <= 1, 0.6, 0.1), 0.5),  # neighbours alone
    ],
)
def test_locality_is_what_neighbours_have_more_than_others(scores, locality):
    assert of_scores(scores).locality == pytest.approx(locality, abs=1e-6)


def test_two_blocks_have_no_locality_and_neither_have_blocks_without_neighbours():
    assert np.isnan(of_scores(SCORES[:2, :2]).locality)
    course = Course(SUITE, REQUEST, (4,), {4: planted()}, {})
    (apart,) = numbers(course, replace(VIEW, blocks=(1, 3, 5)))
    assert np.isnan(apart.locality)
    assert apart.corrected > 0


def test_paths_without_a_finite_number_are_left_out_of_the_mean():
    paths = trajectory_result()
    broken = replace(paths, line_shape=np.array([np.inf, np.nan, 2.0, 4.0, 2.0, 4.0]))
    (one,) = numbers(Course(SUITE, REQUEST, (4,), {}, {4: broken}), VIEW)
    assert one.line_shape == 3


# ---- what comes with the program


@pytest.mark.parametrize("name", TRAINING)
def test_every_step_of_a_shipped_run_is_stored_for_its_prompts(name):
    suite = find_suite(name)
    for prompt in TRAINING[name]:
        with_spectra = (name, prompt) == (DEFAULT_SUITE, EXAMPLES[0])
        course = collect(suite, Request(prompt), Store(Path("none")), spectra=with_spectra)
        assert course.missing == ()
        assert {result.k_max for result in course.depth.values()} == {50}
        assert all(result.certified for result in course.depth.values())
        found = [n.to_dict() for n in numbers(course, View(k=8))]
        lacking = {field for one in found for field, value in one.items() if np.isnan(value)}
        of_spectra = {name for name, one in step_columns().items() if one.kind == "spectrum"}
        assert lacking == (set() if with_spectra else of_spectra)


def test_stochastic_depth_keeps_the_coupling_up_that_the_plain_run_loses():
    last = {}
    for name in ("mini-64", "mini-64-sd"):
        course = collect(find_suite(name), Request(EXAMPLES[0]), Store(Path("none")), (4000,))
        (last[name],) = numbers(course, View(k=8))
    assert last["mini-64-sd"].corrected > 1.3 * last["mini-64"].corrected


def test_coupling_comes_with_training_is_local_and_does_not_only_grow():
    """What the shipped run shows, and what no text may say otherwise."""
    run = numbers(
        collect(find_suite("mini-64"), Request(EXAMPLES[0]), Store(Path("none"))), View(k=8)
    )
    at = {n.step: n for n in run}
    peak = max(run, key=lambda n: n.corrected)
    assert abs(at[0].corrected) < 0.01
    assert peak.corrected > 0.1
    assert peak.locality > 0.1
    assert 32 <= peak.step <= 512
    assert at[4000].corrected < 0.7 * peak.corrected
    assert at[4000].loss < at[peak.step].loss
