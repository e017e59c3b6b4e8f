"""Two results side by side: which blocks are matched, and what their difference comes to."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from cases import SCORES, VIEW, planted, random_result

from coupling_core import View, mean_off_diagonal, measure, score_pairs
from coupling_core.analysis.compare import (
    DIFFERENCE_COLUMNS,
    biggest,
    compare,
    differences,
    match_blocks,
    summarise,
)
from coupling_core.analysis.exports.compare import signed_differences

# ---- matching of blocks


def test_blocks_are_matched_by_nearest_relative_depth():
    for left, right, pairs in (
        (3, 3, [(1, 1), (2, 2), (3, 3)]),
        (3, 5, [(1, 1), (2, 3), (3, 5)]),
        (5, 3, [(1, 1), (3, 2), (5, 3)]),
        # r of 4 blocks: 0, 1/3, 2/3, 1; of 6: 0, 0.2, 0.4, 0.6, 0.8, 1. 1/3 is nearest 0.4.
        (4, 6, [(1, 1), (2, 3), (3, 4), (4, 6)]),
        # r = 1/2 lies half way between 1/3 and 2/3: the shallower is taken.
        (3, 4, [(1, 1), (2, 2), (3, 4)]),
        (1, 4, [(1, 1)]),
        (2, 9, [(1, 1), (2, 9)]),
    ):
        assert match_blocks(left, right) == pairs


def test_every_block_of_the_shallower_model_has_a_partner_of_its_own():
    for shallow in range(2, 33):
        for deep in range(shallow, 97):
            partners = [b for _, b in match_blocks(shallow, deep)]
            assert partners == sorted(set(partners))
            assert (partners[0], partners[-1], len(partners)) == (1, deep, shallow)


def test_scores_are_taken_at_the_matched_blocks():
    deep, shallow = planted(SCORES), planted(np.array([[1, 0.3, 0.2], [0, 1, 0.4], [0.1, 0, 1]]))
    found = compare(deep, shallow, VIEW)
    assert found.a_scores.blocks == (1, 3, 5)
    assert found.b_scores.blocks == (1, 2, 3)
    assert found.partner(5) == 3
    assert not found.same_depth
    # by hand: rows and columns 1, 3 and 5 of SCORES less those of the other
    expected = [[0, 0.4, -0.08], [0.7, 0, -0.4], [0.02, 0, 0]]
    assert found.difference == pytest.approx(np.array(expected), abs=1e-6)
    mirrored = compare(shallow, deep, VIEW)
    assert mirrored.a_scores.blocks == (1, 2, 3)
    assert mirrored.b_scores.blocks == (1, 3, 5)
    assert mirrored.difference == pytest.approx(-np.array(expected), abs=1e-6)


def test_the_range_of_blocks_is_that_of_a():
    deep, shallow = planted(SCORES), planted(np.eye(3))
    found = compare(deep, shallow, replace(VIEW, blocks=(3, 4, 5)))
    assert found.a_scores.blocks == (3, 5)
    assert found.b_scores.blocks == (2, 3)
    assert found.view.blocks == (3, 5)


# ---- what it comes to


def test_a_minus_b_of_the_scores_asked_for():
    a, b = random_result(0, n_blocks=4), random_result(1, n_blocks=4)
    view = View(k=5, definition="page", role="B")
    x, y = score_pairs(a, view), score_pairs(b, view)
    assert compare(a, b, view).difference == pytest.approx(x.corrected - y.corrected)
    raw = compare(a, b, view, corrected=False)
    for of in (raw.a_scores, raw.b_scores):
        assert f"{of.chance[raw.counted].mean():.3f} in " in raw.verdict
    assert raw.difference == pytest.approx(x.coupling - y.coupling)
    assert raw.same_depth


def test_the_summary_leaves_the_diagonal_out():
    a, b = random_result(0, n_blocks=4), random_result(1, n_blocks=4)
    found = compare(a, b, View(k=5))
    off = ~np.eye(4, dtype=bool)
    x, y = (score_pairs(result, View(k=5)).corrected for result in (a, b))
    of = summarise(found)
    assert (of.a, of.b) == pytest.approx((mean_off_diagonal(x), mean_off_diagonal(y)))
    assert of.difference == pytest.approx(of.a - of.b)
    assert of.correlation == pytest.approx(np.corrcoef(x[off], y[off])[0, 1])
    assert of.pairs == 12


def test_only_pairs_that_both_have_are_counted():
    a = planted(SCORES, rank=np.array([8, 8, 0, 8, 8]))
    b = planted(SCORES + 0.1)
    of = summarise(compare(a, b, VIEW))
    assert of.pairs == 12
    assert of.difference == pytest.approx(-0.1, abs=1e-6)
    assert of.correlation == pytest.approx(1, abs=1e-6)


def test_a_constant_map_has_no_correlation():
    found = compare(planted(), planted(np.ones((5, 5))), VIEW)
    assert np.isnan(summarise(found).correlation)
    assert "correlat" not in found.verdict


def test_the_biggest_differences_come_first():
    other = SCORES.copy()
    other[0, 4] -= 0.3
    other[3, 1] += 0.5
    other[2, 0] += 0.1
    found = compare(planted(SCORES), planted(other), VIEW)
    assert biggest(found, 3) == [(3, 1), (0, 4), (2, 0)]
    assert len(biggest(found, 1000)) == 20


# ---- what cannot be compared, and what is said


def test_results_between_tokens_are_compared_pair_by_pair():
    asked = {"model": tiny.model("llama"), "kind": "fixed-output", "block": 2, "k": 6}
    one, other = (measure((3, 1, 4, 1, 5), other_block=b, **asked) for b in (1, 2))
    found = compare(one, other, k=4)
    a, b = one.scores(k=4), other.scores(k=4)
    np.testing.assert_array_equal(found.difference, a.corrected - b.corrected)
    itself = np.eye(5, dtype=bool)  # in block 2 alone a Jacobian meets itself
    np.testing.assert_array_equal(found.counted, ~np.isnan(found.difference) & ~itself)
    at = found.counted
    assert found.mean().a == pytest.approx(a.corrected[at].mean())
    assert found.mean().correlation == pytest.approx(
        np.corrcoef(a.corrected[at], b.corrected[at])[0, 1]
    )
    assert found.to_pandas().attrs["b_K"] == 4


def test_what_differs_is_said(snapshot):
    a = random_result(0)
    b = random_result(1, n_blocks=4, width=12, tokens=("A", " dog", " sat", " up"), token=2)
    b = replace(b, request=replace(b.request, prompt="A dog sat up", untrained=3, token=2))
    same = compare(a, a, View(k=4))
    assert np.abs(same.difference).max() == 0
    elsewhere = replace(random_result(1), identity={"name": "other"}, token=2)
    wide, narrow = random_result(width=64, k_max=8), random_result(width=10, k_max=8)
    deep = random_result(n_blocks=6, seed=1)
    assert {
        "the same": differences(a, a),
        "all else": differences(a, b),
        "weights alone": differences(a, random_result(1)),
        "verdicts": {
            "the same": compare(a, a, k=3).verdict,
            "another token": compare(a, replace(a, token=2), k=3).verdict,
            "another model and token": compare(a, elsewhere, k=3).verdict,
            "widths": compare(wide, narrow, k=8).verdict,
            "depths": compare(random_result(n_blocks=4), deep, k=3).verdict,
            "some blocks": compare(a, random_result(1), k=3, blocks="2-4").verdict,
            "raw": compare(a, random_result(1), k=3, corrected=False).verdict,
            "p": compare(a, random_result(1), k=3, p=2).verdict,
            "definition": compare(a, random_result(1), k=3, definition="alignment").verdict,
        },
    } == snapshot


def test_blocks_are_named_in_place_of_a_view_s():
    one, other = planted(), random_result(n_blocks=5)
    found = compare(one, other, blocks="2-4")
    assert found.a_scores.blocks == (2, 3, 4)
    assert compare(one, other, View(found.view.k, blocks=(2, 3, 4))).view == found.view


def test_k_definition_role_and_p_are_those_of_a_view():
    a, b = random_result(), random_result(seed=1)
    usual = compare(a, b, k=3)
    for asked in ({"k": 4}, {"definition": "alignment"}, {"role": "B"}, {"p": 2}):
        found, view = compare(a, b, **{"k": 3} | asked), View(**{"k": 3} | asked)
        assert found.a_scores == a.scores(**{"k": 3} | asked)
        assert found.mean() == compare(a, b, view).mean()
        assert found.mean() != usual.mean()


def test_tables_and_arrays_hold_the_numbers_and_name_the_score():
    for corrected, name in ((True, "corrected"), (False, "coupling")):
        a, b = random_result(n_blocks=3), random_result(n_blocks=5, seed=1)
        found = compare(a, b, k=3, corrected=corrected)
        arrays, table = found.to_xarray(), found.to_pandas()
        assert arrays["difference"].dims == ("block", "basis")
        assert arrays["b_block"].values.tolist() == [1, 3, 5]
        assert list(table.columns) == [*DIFFERENCE_COLUMNS]
        assert len(table) == summarise(found).pairs
        row = table.iloc[0]
        at = arrays.sel(block=row.block, basis=row.basis)
        assert (float(at.a), float(at.b), float(at.difference)) == (row.a, row.b, row.difference)
        assert row.difference == pytest.approx(row.a - row.b)
        assert found.mean().a == pytest.approx(float(arrays.a.where(arrays.counted).mean()))
        assert arrays.attrs == found.attributes()
        assert table.attrs["score"] == arrays.attrs["score"] == name
        assert set(signed_differences(table, found)["score"]) == {name}
