"""Principal components of paths: known planes, the gauge, and what they cannot have."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from cases import haar, trajectory_result

from coupling_core import compare
from coupling_core.analysis.projection import SMALL, project, project_paths
from coupling_core.base.records import Fit
from coupling_core.base.units import percent


def clouds(seed=0, n_states=9, n_tokens=7, d=12):
    """Paths with clearly different variances along their axes (state token d)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_states, n_tokens, d)) * 0.5 ** np.arange(d)


@pytest.mark.parametrize("fit", get_args(Fit))
def test_components_are_those_of_the_states_they_are_fitted_on(fit):
    """Up to sign, of one NumPy SVD."""
    for n_tokens, d in ((7, 12), (SMALL + 6, SMALL + 10)):
        states = clouds(1, n_tokens=n_tokens, d=d)
        samples = states[-1] if fit == "last" else states.reshape(-1, d)
        _, s, Vh = np.linalg.svd(samples - samples.mean(0), full_matrices=False)
        found = project(states, fit)
        expected = np.abs((states - samples.mean(0)) @ Vh[:3].T)
        np.testing.assert_allclose(np.abs(found.coordinates), expected, atol=1e-8)
        np.testing.assert_allclose(found.explained, (s**2 / (s**2).sum())[:3], atol=1e-10)


def test_paths_in_a_plane_are_explained_by_two_components():
    rng = np.random.default_rng(4)
    flat = rng.standard_normal((9, 7, 2)) * [3.0, 1.0]
    found = project(flat @ haar(rng, 12, 2).T, "all")
    assert found.explained[:2].sum() == pytest.approx(1, abs=1e-12)
    assert found.drawn[:2].sum() == pytest.approx(1, abs=1e-12)
    distances = np.linalg.norm(np.diff(flat, axis=0), axis=-1)
    drawn = np.linalg.norm(np.diff(found.coordinates[..., :2], axis=0), axis=-1)
    np.testing.assert_allclose(drawn, distances, atol=1e-10)
    states = clouds(5)
    states[:-1, :, -1] += 100 * np.arange(len(states) - 1)[:, None]  # varies below the last state
    found = project(states, "last")
    assert found.explained.sum() > 0.9
    assert found.drawn.sum() < 0.1


def test_the_largest_entry_of_each_component_is_positive_and_rotations_change_signs_at_most():
    axis = np.zeros((2, 3, 5))
    axis[:, :, 2] = -np.arange(3)  # varies along one entry only
    for fit in get_args(Fit):
        assert project(axis, fit).coordinates[-1, :, 0] == pytest.approx([1, 0, -1], abs=1e-12)
        for seed in range(10):
            states = clouds(seed)
            found, flipped = project(states, fit), project(-states, fit)
            # The components of -X are those of X, so that the gauge flips every coordinate.
            np.testing.assert_allclose(flipped.coordinates, -found.coordinates, atol=1e-8)
            turned = project(states @ haar(np.random.default_rng(seed + 1), 12, 12), fit)
            both = np.abs(found.coordinates), np.abs(turned.coordinates)
            np.testing.assert_allclose(*both, atol=1e-6)
            np.testing.assert_allclose(found.explained, turned.explained, atol=1e-9)


def test_few_tokens_have_few_components_on_the_last_state():
    for n_tokens, known in ((1, 0), (2, 1), (3, 2), (4, 3)):
        found = project(clouds(3, n_tokens=n_tokens), "last")
        assert np.isfinite(found.explained).tolist() == [i < known for i in range(3)]
        assert np.isfinite(found.coordinates).all((0, 1)).tolist() == [i < known for i in range(3)]
    assert np.isnan(project(np.ones((3, 4, 5)), "all").explained).all()


def test_without_components_it_is_said_why():
    one = trajectory_result(n_tokens=2)
    assert project_paths(one, first=False).plot().figure.layout.annotations
    assert not project_paths(one, fit="all").plot().figure.layout.annotations
    # A remedy that was taken is not offered again.
    assert "first=True" in project_paths(one).why_none == project_paths(one).verdict
    assert "first=True" not in project_paths(trajectory_result(n_tokens=1), first=True).why_none
    assert project_paths(trajectory_result(), onto=project_paths(one)).why_none
    both = compare(one, trajectory_result()).plot("paths")
    assert not [trace for trace in both.figure.data if trace.name.startswith("twin")]


def test_the_rounding_of_float32_is_no_component():
    rng = np.random.default_rng(0)
    same = np.tile(rng.standard_normal(64), (5, 4, 1)) * 3
    noise = rng.standard_normal(same.shape) * 1e-7
    along = same + np.arange(4)[:, None] * rng.standard_normal(64) * 1e-2  # one direction alone
    for fit in get_args(Fit):
        assert np.isnan(project((same + noise).astype(np.float32), fit).explained).all()
        found = project((along + noise).astype(np.float32), fit)
        assert np.isfinite(found.explained).tolist() == [True, False, False]
        assert np.isnan(found.coordinates[..., 1:]).all()


def test_paths_are_seen_in_the_components_of_others():
    one, other = trajectory_result(), trajectory_result(seed=1)
    found = project_paths(one, fit="all")
    same, seen = project_paths(one, onto=found), project_paths(other, onto=found)
    np.testing.assert_allclose(same.coordinates, found.coordinates, atol=1e-9)
    np.testing.assert_allclose(same.explained, found.explained, atol=1e-9)
    states = other.states.astype(np.float64)[:, seen.tokens - 1]
    by_hand = (states - found.center) @ found.components.T
    np.testing.assert_allclose(seen.coordinates, by_hand, atol=1e-9)
    flat = states.reshape(-1, states.shape[-1])
    shares = by_hand.reshape(len(flat), -1).var(0) / flat.var(0).sum()
    np.testing.assert_allclose(seen.explained, shares)
    assert seen.view == found.view
    assert "fitted on all states of random" in repr(seen)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(3), atol=1e-9)
    # A token alone has no variance at the last state, and the components are there all the same.
    alone = project_paths(trajectory_result(n_tokens=2, seed=1), onto=project_paths(one))
    assert np.isfinite(alone.coordinates).all()
    assert np.isnan(alone.explained).all()
    assert (alone.why_none, percent(alone.drawn[:2].sum(), 1) in alone.verdict) == ("", True)


def test_a_twin_is_drawn_in_the_components_of_the_first():
    one, other = trajectory_result(), trajectory_result(seed=1)
    other = replace(other, request=replace(other.request, untrained=0))
    found = project_paths(one)
    seen = project_paths(other, onto=found).coordinates
    for figure, axes in (("paths", "xy"), ("paths-3d", "xyz")):
        drawn = compare(one, other).plot(figure).figure
        twins = {trace.name: trace for trace in drawn.data if (trace.name or "").startswith("twin")}
        assert len(twins) == len(found.tokens)
        last = twins[f"twin {found.tokens[-1]}"]
        for i, axis in enumerate(axes):
            walked = seen[: len(last.x), -1, i]
            np.testing.assert_allclose(last[axis], walked, rtol=1e-5, atol=1e-6)
    assert one.plot("paths", twin=other).caption == compare(one, other).plot("paths").caption


def test_a_table_of_paths_says_of_what_it_is():
    result = trajectory_result()
    found = project_paths(result, fit="all", first=True)
    table, arrays = found.to_pandas(), found.to_xarray()
    assert table.attrs == arrays.attrs
    named = {"model": result.model_name, "fit": "all", "first": 1}
    assert named.items() <= table.attrs.items()
    at = arrays.coordinates.sel(state=2, token=3, component=1).item()
    place = found.tokens.tolist().index(3)
    assert table.set_index(["state", "token"])["pc_1"][2, 3] == at == found.coordinates[2, place, 0]
    onto = project_paths(trajectory_result(seed=1), onto=found).to_pandas()
    assert onto.attrs["onto_model"] == result.model_name
