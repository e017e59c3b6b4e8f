"""Numbers of paths with known answers, and what must not change them."""

import warnings

import numpy as np
import pytest
import torch
from cases import haar

from coupling_core.analysis import trajectory as of


def paths(seed, n_states=14, n_tokens=3, d=8):
    """Random walks (state token d)."""
    return np.random.default_rng(seed).standard_normal((n_states, n_tokens, d)).cumsum(0)


def along_line(distances):
    """One token that moves along a line, away from 0, to these distances."""
    direction = haar(np.random.default_rng(0), 6, 1)[:, 0]
    return np.asarray(distances, float)[:, None, None] * direction


def arc(n_steps, turn):
    """One token whose steps of equal length turn by the same angle in a plane."""
    angles = turn * np.arange(n_steps)
    steps = np.stack([np.cos(angles), np.sin(angles)], -1)
    return np.concatenate([np.zeros((1, 2)), steps.cumsum(0)])[:, None]


def every_number(states):
    """All numbers that a rotation and a scale leave alone."""
    norm = of.norms(states)
    return {
        "line_shape": of.line_shape(states),
        "windowed": of.windowed_line_shape(states),
        "growth": of.growth_rates(norm),
        "expodistance": of.expodistance(norm),
        "equidistance": of.equidistance(of.step_lengths(states)),
    }


def test_a_line_has_line_shape_one_however_unevenly_it_is_walked():
    states = along_line([1, 2, 2.5, 7, 7.1, 30, 31, 40, 41, 42, 43, 50])
    assert of.line_shape(states) == pytest.approx(1, abs=1e-12)
    assert of.windowed_line_shape(states)[5:7, 0] == pytest.approx(1, abs=1e-12)


def test_an_arc_has_the_line_shape_of_a_polygon():
    n_steps = 20
    for turn in (0.1, 0.5, 1.0):
        chord = np.sin(n_steps * turn / 2) / np.sin(turn / 2)
        assert of.line_shape(arc(n_steps, turn)) == pytest.approx(n_steps / abs(chord), rel=1e-10)
        ten = abs(np.sin(10 * turn / 2) / np.sin(turn / 2))
        windowed = of.windowed_line_shape(arc(n_steps, turn))[:, 0]
        assert windowed[5:-5] == pytest.approx(10 / ten, rel=1e-10)
    assert of.line_shape(arc(12, 2 * np.pi / 12)) == np.inf  # a full circle


def test_expodistance_is_the_square_of_a_coefficient_of_variation():
    norm = np.exp(np.cumsum([0.0, 1.0, 3.0]))[:, None]  # alpha 1 and 3: mean 2, variance 1
    assert of.expodistance(norm) == pytest.approx(0.25, abs=1e-12)
    norm = of.norms(along_line(3 * 1.25 ** np.arange(12)))  # exact exponential growth
    assert of.growth_rates(norm) == pytest.approx(np.log(1.25), abs=1e-12)
    assert of.expodistance(norm) == pytest.approx(0, abs=1e-20)


def test_equidistance_is_a_coefficient_of_variation_of_steps():
    for distances, expected in (
        ([1.0, 2.0, 5.0], 0.5),  # steps 1 and 3: mean 2, deviation 1
        ([1.0, 2.0, 3.0, 4.0], 0),
        ([2.0, 2.0, 2.0], np.nan),
    ):
        found = of.equidistance(of.step_lengths(along_line(distances)))
        np.testing.assert_allclose(found, [expected], atol=1e-12)


def test_a_window_that_does_not_fit_has_no_score():
    for n_states in (2, 10, 11, 12):
        windowed = of.windowed_line_shape(paths(1, n_states))
        assert windowed.shape == (n_states, 3)
        known = np.isfinite(windowed).all(1)
        assert known.sum() == max(0, n_states - 10)
        assert not known[:5].any()
        assert not known[n_states - 5 :].any()
    states = paths(2, 11)  # the window of all states is the whole score
    np.testing.assert_allclose(of.windowed_line_shape(states)[5], of.line_shape(states))


def test_a_token_that_rests_has_no_line_shape_and_the_others_keep_theirs():
    states = paths(3)
    expected = np.where(np.arange(3) == 1, np.nan, of.line_shape(states))
    states[5, 1] = states[4, 1]
    np.testing.assert_allclose(of.line_shape(states), expected)


def test_a_norm_that_does_not_grow_has_no_expodistance_and_a_reason():
    for norm, reason in (
        ([1.0, 1.0, 1.0], "neither grows nor shrinks"),
        ([1.0, 2.0, 1.0], "neither grows nor shrinks"),
        ([0.0, 2.0, 3.0], "norm 0"),
        ([1.0, 0.0, 3.0], "norm 0"),
    ):
        both = np.array([norm, [1.0, 2.0, 4.0]]).T
        np.testing.assert_allclose(of.expodistance(both), [np.nan, 0], atol=1e-20)
        why, other = of.why_no_expodistance(both)
        assert reason in why
        assert other == ""


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_what_must_not_matter_does_not(scale):
    """Rotations, scales and the order of the tokens; shifts, to all that differences alone give."""
    for seed in range(10):
        states = paths(seed)
        numbers = every_number(states)
        turned = every_number(scale * states @ haar(np.random.default_rng(seed + 1), 8, 8))
        turned_round = every_number(states[:, ::-1])
        for name, expected in numbers.items():
            np.testing.assert_allclose(turned[name], expected, rtol=1e-6, err_msg=name)
            np.testing.assert_allclose(turned_round[name][..., ::-1], expected, err_msg=name)
        np.testing.assert_allclose(of.norms(scale * states), scale * of.norms(states), rtol=1e-9)
        moved = states + 5.0
        np.testing.assert_allclose(of.line_shape(moved), numbers["line_shape"], rtol=1e-6)
        np.testing.assert_allclose(of.step_lengths(moved), of.step_lengths(states), rtol=1e-9)
        assert (numbers["line_shape"] >= 1 - 1e-12).all()


def test_numbers_that_are_none_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for nothing in (np.nan, np.inf):
            assert np.isnan(of.line_shape(np.full((5, 2, 3), nothing))).all()
        assert np.isnan(of.expodistance(np.full((5, 2), np.inf))).all()


def test_tensors_and_the_hidden_states_of_a_model_are_paths():
    states = torch.tensor(paths(3)).to(torch.bfloat16).requires_grad_(True)
    expected = of.line_shape(states.detach().double().numpy())
    np.testing.assert_array_equal(of.line_shape(states), expected)
    np.testing.assert_array_equal(of.line_shape(tuple(states)), expected)
