"""Scores from nested numerators against the formulas written out in `reference`."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import depth_result, haar, planted_jacobians, random_result

from coupling_core import View, mean_interval, mean_off_diagonal, score_by_k, score_pairs
from coupling_core.analysis.scores import arbitrary_told, chance_floor, score
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.records import ROLES
from coupling_core.engine import reference

RESULT = random_result()


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_every_pair_is_scored_as_the_formula_reads(definition):
    """Rows are the Jacobian, columns the basis."""
    jacobians = planted_jacobians(4, 16, coupling=0.6, seed=3)
    result, svds = depth_result(jacobians, k_max=8, k_view=4), [np.linalg.svd(J) for J in jacobians]
    for role, k in itertools.product(ROLES, (1, 3, 8)):
        found = score_pairs(result, View(k=k, definition=definition, role=role)).coupling
        for row, (J, (_, s, _)) in enumerate(zip(jacobians, svds, strict=True)):
            for column, (U, _, Vh) in enumerate(svds):
                left, right = (U, Vh.T) if role == "A" else (Vh.T, U)
                A = reference.coupling_matrix(J, left[:, :k], right[:, :k])
                expected = reference.score(A, s[:k], definition)
                assert found[row, column] == pytest.approx(expected, abs=2e-6)


def test_blocks_without_leading_directions_are_named():
    assert arbitrary_told(RESULT, View(k=4)) == ""
    s = RESULT.singular_values.copy()
    for blocks, named in (([2], "block 2 are"), ([2, 4], "blocks 2, 4 are")):
        s[np.array(blocks) - 1] = 1
        found = replace(RESULT, singular_values=s)
        assert f"The singular values of {named} all alike" in found.verdict


def test_blocks_in_one_basis_score_one_and_in_none_score_chance():
    coupled = depth_result(planted_jacobians(6, 48, coupling=1.0), 8, 4)
    own = depth_result(planted_jacobians(6, 48, coupling=0.0), 8, 4)
    for definition in DEFINITIONS:
        view = View(k=8, definition=definition)
        same_order = {"alignment": 0.8, "paper": 0.8}.get(definition, 0.3)
        assert mean_off_diagonal(score_pairs(coupled, view).corrected) > same_order
        assert abs(mean_off_diagonal(score_pairs(own, view).corrected)) < 0.08
        for values in (score_pairs(own, view).coupling, score_pairs(own, view).corrected):
            assert np.diag(values) == pytest.approx(1, abs=1e-3)  # a block in its own basis


def test_the_order_of_the_norm_is_a_view_of_the_paper_definition_alone():
    s = np.array([3.0, 2.0, 1.0])
    diagonal, off = np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0])
    distance = np.sqrt(2 + 4 + 1 + 0)
    for p in (1.0, 2.0, 3.5):
        expected = 1 - distance / np.linalg.norm(s, p)
        assert score(diagonal, off, s, "paper", p)[-1] == pytest.approx(expected)
        of_page = 1 - distance / np.linalg.norm(s)
        assert score(diagonal, off, s, "page", p)[-1] == pytest.approx(of_page)


def test_the_closed_form_of_the_chance_floor_agrees_with_random_frames():
    J = planted_jacobians(1, 40, coupling=1.0, seed=1)[0]
    rng = np.random.default_rng(0)
    for k in (2, 8, 20):
        s = np.linalg.svd(J, compute_uv=False)[:k]
        samples = [
            np.linalg.norm(haar(rng, 40, k).T @ J @ haar(rng, 40, k) - np.diag(s)) ** 2
            for _ in range(500)
        ]
        expected = np.sum(s**2) + k**2 * np.linalg.norm(J) ** 2 / 40**2
        error = np.std(samples) / np.sqrt(len(samples))
        assert abs(np.mean(samples) - expected) < 4 * error
        assert error < 0.02 * expected


def test_the_floor_is_the_score_at_the_expected_distance():
    s = RESULT.singular_values.astype(float)
    expected = np.sum(s**2, 1) + 8**2 * RESULT.jacobian_norm.astype(float) ** 2 / 16**2
    norms = {"paper": np.sum(s, 1), "page": np.sqrt(np.sum(s**2, 1))}
    for definition, norm in norms.items():
        found = chance_floor(RESULT, definition)[:, -1]
        assert found == pytest.approx(1 - np.sqrt(expected) / norm, abs=1e-6)


def test_a_block_range_selects_rows_and_columns():
    whole, part = score_pairs(RESULT, View(k=4)), score_pairs(RESULT, View(k=4, blocks=(2, 5)))
    assert part.blocks == (2, 5)
    assert np.array_equal(part.coupling, whole.coupling[np.ix_([1, 4], [1, 4])])


def test_the_mean_leaves_out_the_trivial_diagonal_and_unmeasured_blocks():
    values = np.array([[1.0, 0.2, np.nan], [0.4, 1.0, np.nan], [np.nan, np.nan, 1.0]])
    assert mean_off_diagonal(values) == pytest.approx(0.3)
    assert np.isnan(mean_off_diagonal(np.ones((1, 1))))


def test_k_past_the_rank_has_no_score():
    cut = replace(RESULT, rank=np.array([8, 3, 8, 8, 8]))
    missing = np.isnan(score_pairs(cut, View(k=4)).coupling)
    assert np.array_equal(missing, np.add.outer(cut.rank < 4, cut.rank < 4))
    by_k, _ = score_by_k(cut, 1, 2, View())
    assert np.isnan(by_k).tolist() == [False] * 3 + [True] * 5


def test_the_curve_over_k_passes_through_the_map():
    for definition in DEFINITIONS:
        view = View(k=6, definition=definition, role="B")
        by_k, floor = score_by_k(RESULT, 2, 4, view)
        values = score_pairs(RESULT, view)
        assert by_k[5] == pytest.approx(values.coupling[1, 3], abs=1e-12)
        assert floor[5] == pytest.approx(values.chance[1, 3], abs=1e-12)


def test_the_interval_of_a_mean_covers_it_and_says_when_prompts_are_few():
    for n in (2, 5, 40):
        rng = np.random.default_rng(n)
        many = [mean_interval(values) for values in rng.normal(0.3, 0.1, (1000, n))]
        covered = sum(interval.low <= 0.3 <= interval.high for interval in many)
        assert abs(covered / 1000 - 0.95) < 0.021  # three standard errors
        assert many[0].enough is (n >= 40)
    one = mean_interval(np.array([0.2]))
    assert (one.mean, one.n) == (0.2, 1)
    assert np.isnan([one.low, one.high]).all()
    assert repr(one) == "Interval(mean=0.2000, median=0.2000, low=nan, high=nan, n=1)"
    values = np.array([0.1, 0.3, 0.2, 0.5])
    column = pd.Series(values, index=[7, 5, 3, 1])
    assert mean_interval(column) == mean_interval(list(values)) == mean_interval(values)


def test_an_interval_says_what_so_many_numbers_bear_out(snapshot):
    lists = {
        "one": [0.3],
        "two": [0.2, 0.4],
        "four alike": [0.3] * 4,
        "five alike": [0.3] * 5,
        "forty alike": [0.3] * 40,
        "NaN": [0.3, np.nan],
        "small": [-0.0002, -0.0003, -0.0004, -0.0003, -0.0003],
    }
    told = {name: mean_interval(np.array(values)).verdict for name, values in lists.items()}
    overstated = [name for name in told if "overstate" in told[name]]
    assert overstated == ["five alike", "small"]  # enough for an interval, and fewer than 40
    assert told == snapshot


def test_floors_say_how_far_they_are_off():
    for definition, blocks in itertools.product(DEFINITIONS, ((1, 2, 3, 4, 5), (2, 5))):
        found = score_pairs(RESULT, View(k=4, definition=definition, blocks=blocks))
        if definition not in RESULT.sampled:
            assert found.floor_error == 0
            assert "random bases" not in found.verdict
            continue
        errors = RESULT.chance_error[RESULT.sampled.index(definition)]
        expected = np.mean([errors[block - 1, 3] for block in blocks])
        assert found.floor_error == pytest.approx(expected, rel=1e-6)
        assert f"{expected:.4f}" in found.verdict
        assert np.isnan(replace(found, result=None).floor_error)
