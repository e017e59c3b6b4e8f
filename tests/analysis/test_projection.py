"""Principal components of paths: known planes, the gauge, and what they cannot have."""

import numpy as np
import pytest
from cases import haar, trajectory_result
from hypothesis import given
from hypothesis import strategies as st

from coupling_core.analysis.projection import SMALL, project, project_paths
from coupling_core.base.records import FITS

SEEDS = st.integers(0, 2**32 - 1)


def clouds(seed=0, n_states=9, n_tokens=7, d=12):
    """Paths with clearly different variances along their axes (state token d)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_states, n_tokens, d)) * 0.5 ** np.arange(d)


def by_svd(samples, states):
    """Coordinates up to sign, and explained shares, from one NumPy SVD."""
    centred = samples - samples.mean(0)
    _, s, Vh = np.linalg.svd(centred, full_matrices=False)
    return np.abs((states - samples.mean(0)) @ Vh[:3].T), (s**2 / (s**2).sum())[:3]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(("n_tokens", "d"), [(7, 12), (SMALL + 6, SMALL + 10)])
def test_components_are_those_of_the_states_they_are_fitted_on(fit, n_tokens, d):
    states = clouds(1, n_tokens=n_tokens, d=d)
    samples = states[-1] if fit == "last" else states.reshape(-1, d)
    expected, explained = by_svd(samples, states)
    found = project(states, fit)
    np.testing.assert_allclose(np.abs(found.coordinates), expected, atol=1e-8)
    np.testing.assert_allclose(found.explained, explained, atol=1e-10)


def test_paths_in_a_plane_are_explained_by_two_components():
    rng = np.random.default_rng(4)
    plane = haar(rng, 12, 2)
    flat = rng.standard_normal((9, 7, 2)) * [3.0, 1.0]
    found = project(flat @ plane.T, "all")
    assert found.explained[:2].sum() == pytest.approx(1, abs=1e-12)
    assert found.drawn[:2].sum() == pytest.approx(1, abs=1e-12)
    distances = np.linalg.norm(flat[1:] - flat[:-1], axis=-1)
    drawn = np.linalg.norm(np.diff(found.coordinates[..., :2], axis=0), axis=-1)
    np.testing.assert_allclose(drawn, distances, atol=1e-10)


def test_the_share_of_what_is_drawn_is_told_beside_that_of_what_was_fitted():
    states = clouds(5)
    states[:-1, :, -1] += 100 * np.arange(len(states) - 1)[:, None]  # varies below the last state
    found = project(states, "last")
    assert found.explained.sum() > 0.9
    assert found.drawn.sum() < 0.1


@pytest.mark.parametrize("fit", FITS)
def test_the_largest_entry_of_each_component_is_positive(fit):
    states = clouds(2)
    found = project(states, fit)
    flipped = project(-states, fit)
    # The components of -X are those of X, so that the gauge flips every coordinate.
    np.testing.assert_allclose(flipped.coordinates, -found.coordinates, atol=1e-8)
    axis = np.zeros((2, 3, 5))
    axis[:, :, 2] = -np.arange(3)  # varies along one entry only
    assert project(axis, fit).coordinates[-1, :, 0] == pytest.approx([1, 0, -1], abs=1e-12)


@given(seed=SEEDS)
def test_a_rotation_changes_signs_at_most(seed):
    states = clouds(seed)
    turned = states @ haar(np.random.default_rng(seed + 1), 12, 12)
    for fit in FITS:
        a, b = project(states, fit), project(turned, fit)
        np.testing.assert_allclose(np.abs(a.coordinates), np.abs(b.coordinates), atol=1e-6)
        np.testing.assert_allclose(a.explained, b.explained, atol=1e-9)


@pytest.mark.parametrize(("n_tokens", "known"), [(1, 0), (2, 1), (3, 2), (4, 3)])
def test_few_tokens_have_few_components_on_the_last_state(n_tokens, known):
    found = project(clouds(3, n_tokens=n_tokens), "last")
    assert np.isfinite(found.explained).tolist() == [i < known for i in range(3)]
    assert np.isfinite(found.coordinates).all((0, 1)).tolist() == [i < known for i in range(3)]


def test_states_that_are_all_the_same_have_no_component():
    assert np.isnan(project(np.ones((3, 4, 5)), "all").explained).all()


def test_a_figure_without_components_says_why():
    one = trajectory_result(n_tokens=2)
    drawn = project_paths(one, first=False).plot().figure
    assert "no variance" in drawn.layout.annotations[0].text
    assert not project_paths(one, fit="all").plot().figure.layout.annotations


@pytest.mark.parametrize("fit", FITS)
def test_the_rounding_of_float32_is_no_component(fit):
    rng = np.random.default_rng(0)
    same = np.tile(rng.standard_normal(64), (5, 4, 1)) * 3
    noise = rng.standard_normal(same.shape) * 1e-7
    assert np.isnan(project((same + noise).astype(np.float32), fit).explained).all()
    along = same + np.arange(4)[:, None] * rng.standard_normal(64) * 1e-2  # one direction alone
    found = project((along + noise).astype(np.float32), fit)
    assert np.isfinite(found.explained).tolist() == [True, False, False]
    assert np.isnan(found.coordinates[..., 1:]).all()


def test_a_remedy_is_none_that_was_taken():
    one = trajectory_result(n_tokens=2)
    assert "first=True" in project_paths(one).why_none
    alone = project_paths(trajectory_result(n_tokens=1), first=True).why_none
    assert "first=True" not in alone
    assert "fit them to all states" in alone
