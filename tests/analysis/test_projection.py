"""Principal components of paths: known planes, the gauge, and what they cannot have."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from cases import haar, trajectory_result
from hypothesis import given
from hypothesis import strategies as st

from coupling_core import InputError, compare
from coupling_core.analysis.projection import SMALL, project, project_paths
from coupling_core.base.records import FITS
from coupling_core.base.units import percent

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


def test_paths_are_seen_in_the_components_of_others():
    one, other = trajectory_result(), trajectory_result(seed=1)
    found = project_paths(one, fit="all")
    same = project_paths(one, onto=found)
    np.testing.assert_allclose(same.coordinates, found.coordinates, atol=1e-9)
    np.testing.assert_allclose(same.explained, found.explained, atol=1e-9)
    seen = project_paths(other, onto=found)
    states = other.states.astype(np.float64)[:, seen.tokens - 1]
    by_hand = (states - found.center) @ found.components.T
    np.testing.assert_allclose(seen.coordinates, by_hand, atol=1e-9)
    flat = states.reshape(-1, states.shape[-1])
    shares = by_hand.reshape(len(flat), -1).var(0) / flat.var(0).sum()
    np.testing.assert_allclose(seen.explained, shares)
    assert seen.explained.sum() < found.explained.sum()
    assert seen.view == found.view
    assert "Of the components of " in seen.verdict
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(3), atol=1e-9)


def test_a_twin_is_drawn_in_the_components_of_the_first():
    one, other = trajectory_result(), trajectory_result(seed=1)
    other = replace(other, request=replace(other.request, untrained=0))
    found = project_paths(one)
    for figure, dimensions in (("paths", 2), ("paths-3d", 3)):
        drawn = compare(one, other).plot(figure).figure
        twins = {trace.name: trace for trace in drawn.data if (trace.name or "").startswith("twin")}
        assert len(twins) == len(found.tokens)
        seen = project_paths(other, onto=found).coordinates
        last = twins[f"twin {found.tokens[-1]}"]
        np.testing.assert_allclose(last.x, seen[: len(last.x), -1, 0], rtol=1e-5, atol=1e-6)
        assert {trace.line.dash for trace in twins.values()} == {"dash"}
        assert len([axis for axis in "xyz" if getattr(last, axis, None) is not None]) == dimensions
        assert "dashed are the paths of the untrained twin (seed 0)" in drawn.layout.meta["caption"]
    assert one.plot("paths", twin=other).caption == compare(one, other).plot("paths").caption


@pytest.mark.parametrize(
    ("onto", "said", "told"),
    [
        (lambda: project_paths(trajectory_result()), {"fit": "all"}, "onto brings its view"),
        (trajectory_result, {}, "a TrajectoryResult came where projected paths are needed"),
        (lambda: project_paths(trajectory_result(width=8)), {}, "and the components 8: expected"),
    ],
)
def test_what_is_no_place_to_be_seen_in_is_refused(onto, said, told):
    with pytest.raises(InputError, match=told):
        inspect.unwrap(project_paths)(trajectory_result(), onto=onto(), **said)


def test_a_table_of_paths_says_of_what_it_is():
    result = trajectory_result()
    found = project_paths(result, fit="all", first=True)
    table, arrays = found.to_pandas(), found.to_xarray()
    assert table.attrs == arrays.attrs
    assert table.attrs["model"] == result.model_name
    assert (table.attrs["fit"], table.attrs["first"]) == ("all", 1)
    at = arrays.coordinates.sel(state=2, token=3, component=1).item()
    assert table[(table.state == 2) & (table.token == 3)]["pc_1"].item() == at
    onto = project_paths(trajectory_result(seed=1), onto=found).to_pandas()
    assert onto.attrs["onto_model"] == result.model_name
    assert result.model_name in repr(found)


def test_a_token_alone_is_seen_in_the_components_of_others():
    """It has no variance at the last state, and the components are there all the same."""
    many, two = trajectory_result(), trajectory_result(n_tokens=2, seed=1)
    found = project_paths(two, onto=project_paths(many))
    assert np.isfinite(found.coordinates).all()
    assert np.isnan(found.explained).all()
    assert found.why_none == ""
    share = percent(found.drawn[:2].sum(), 1)
    assert ", two explain of the variance of 1 token of " in found.verdict
    assert found.verdict.endswith(f" {share} at all states.")
    three = project_paths(trajectory_result(n_tokens=3), onto=project_paths(trajectory_result()))
    shares = (percent(of[:2].sum(), 1) for of in (three.explained, three.drawn))
    assert three.verdict.endswith(" {} at x^12 and {} at all states.".format(*shares))
    assert repr(found).endswith("of all that is drawn)")
    assert "explained: nothing" not in repr(found)
    assert "The components are those of " in found.plot().caption
    assert "nothing, since there is none" not in found.plot().caption


def test_paths_without_components_show_no_others():
    many, two = trajectory_result(), trajectory_result(n_tokens=2, seed=1)
    onto = project_paths(two)
    found = project_paths(many, onto=onto)
    assert "have no components to see others in" in found.verdict
    assert "longer prompt" in onto.why_none
    drawn = compare(two, many).plot("paths")
    assert not [trace for trace in drawn.figure.data if trace.name.startswith("twin")]
    assert "dashed" not in drawn.caption


def test_one_token_is_in_ink_and_what_is_no_option_is_told():
    drawn = project_paths(trajectory_result()).plot(token=3).figure
    widths = {t.name: t.line.width for t in drawn.data if t.name in ("2", "3")}
    assert widths["3"] > widths["2"]
    with pytest.raises(InputError, match="plot has no argument 'tokn'"):
        project_paths(trajectory_result()).plot(tokn=3)
