"""Two results side by side: which blocks are matched, and what their difference comes to."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
from cases import SCORES, VIEW, planted, random_result

from coupling_core import View, mean_off_diagonal, measure, score_pairs
from coupling_core.analysis.alignment import differences, match_blocks
from coupling_core.analysis.compare import compare
from coupling_core.analysis.exports import signed_differences


def test_blocks_are_matched_by_nearest_relative_depth():
    for left, right, pairs in (
        (3, 3, [(1, 1), (2, 2), (3, 3)]),
        (5, 3, [(1, 1), (3, 2), (5, 3)]),
        # r of 4 blocks: 0, 1/3, 2/3, 1; of 6: 0, 0.2, 0.4, 0.6, 0.8, 1. 1/3 is nearest 0.4.
        (4, 6, [(1, 1), (2, 3), (3, 4), (4, 6)]),
        # r = 1/2 lies half way between 1/3 and 2/3: the shallower is taken.
        (3, 4, [(1, 1), (2, 2), (3, 4)]),
        (1, 4, [(1, 1)]),
        (2, 9, [(1, 1), (2, 9)]),
    ):
        assert match_blocks(left, right) == pairs
    for shallow in range(2, 33):  # each has a partner of its own
        for deep in range(shallow, 97):
            partners = [b for _, b in match_blocks(shallow, deep)]
            assert partners == sorted(set(partners))
            assert (partners[0], partners[-1], len(partners)) == (1, deep, shallow)


def test_scores_are_taken_at_the_matched_blocks():
    deep, shallow = planted(SCORES), planted(np.array([[1, 0.3, 0.2], [0, 1, 0.4], [0.1, 0, 1]]))
    found = compare(deep, shallow, VIEW)
    assert found.a_scores.blocks == (1, 3, 5)
    assert found.b_scores.blocks == (1, 2, 3)
    assert (found.partner(5), found.same_depth) == (3, False)
    # by hand: rows and columns 1, 3 and 5 of SCORES less those of the other
    expected = np.array([[0, 0.4, -0.08], [0.7, 0, -0.4], [0.02, 0, 0]])
    assert found.difference == pytest.approx(expected, abs=1e-6)
    mirrored = compare(shallow, deep, VIEW)
    assert mirrored.b_scores.blocks == (1, 3, 5)
    assert mirrored.difference == pytest.approx(-expected, abs=1e-6)
    part = compare(deep, shallow, replace(VIEW, blocks=(3, 4, 5)))  # the range is that of A
    assert (part.a_scores.blocks, part.b_scores.blocks) == ((3, 5), (2, 3))
    assert part.view.blocks == (3, 5)


def test_a_minus_b_of_the_scores_asked_for_and_their_means_without_the_diagonal():
    a, b = random_result(0, n_blocks=4), random_result(1, n_blocks=4)
    view, off = View(k=5, definition="page", role="B"), ~np.eye(4, dtype=bool)
    x, y = score_pairs(a, view), score_pairs(b, view)
    raw = compare(a, b, view, corrected=False)
    assert raw.difference == pytest.approx(x.coupling - y.coupling)
    for of in (raw.a_scores, raw.b_scores):
        assert f"{of.chance[raw.counted].mean():.3f} in " in raw.verdict
    found = compare(a, b, view)
    assert found.difference == pytest.approx(x.corrected - y.corrected)
    of = found.mean()
    means = mean_off_diagonal(x.corrected), mean_off_diagonal(y.corrected)
    assert (of.a, of.b, of.difference) == pytest.approx((*means, means[0] - means[1]))
    correlation = np.corrcoef(x.corrected[off], y.corrected[off])[0, 1]
    assert (of.correlation, of.pairs) == (pytest.approx(correlation), 12)


def test_only_pairs_that_both_have_are_counted():
    a = planted(SCORES, rank=np.array([8, 8, 0, 8, 8]))
    of = compare(a, planted(SCORES + 0.1), VIEW).mean()
    assert of.pairs == 12
    assert (of.difference, of.correlation) == pytest.approx((-0.1, 1), abs=1e-6)
    flat = compare(planted(), planted(np.ones((5, 5))), VIEW)
    assert np.isnan(flat.mean().correlation)
    assert "correlat" not in flat.verdict


def test_the_biggest_differences_come_first():
    other = SCORES.copy()
    other[0, 4] -= 0.3
    other[3, 1] += 0.5
    other[2, 0] += 0.1
    found = compare(planted(SCORES), planted(other), VIEW)
    table = found.to_pandas()
    assert table[["block", "basis"]].head(3).to_numpy().tolist() == [[4, 2], [1, 5], [3, 1]]
    assert len(table) == 20


def test_results_between_tokens_are_compared_pair_by_pair():
    asked = {"model": tiny.model("llama"), "kind": "fixed-output", "block": 2, "k": 6}
    one, other = (measure((3, 1, 4, 1, 5), other_block=b, **asked) for b in (1, 2))
    found = compare(one, other, k=4)
    a, b = one.scores(k=4), other.scores(k=4)
    np.testing.assert_array_equal(found.difference, a.corrected - b.corrected)
    itself = np.eye(5, dtype=bool)  # in block 2 alone a Jacobian meets itself
    np.testing.assert_array_equal(found.counted, ~np.isnan(found.difference) & ~itself)
    x, y = a.corrected[found.counted], b.corrected[found.counted]
    assert found.mean().a == pytest.approx(x.mean())
    assert found.mean().correlation == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found.to_pandas().attrs["b_K"] == 4
    maps = found.to_xarray()
    assert maps.difference.dims == ("token", "other_token")
    cell = maps.sel(token=3, other_token=1)
    assert (float(cell.a), float(cell.b)) == (a[3, 1].corrected, b[3, 1].corrected)
    assert bool(cell.counted) == found.counted[2, 0]
    assert f"over {found.mean().pairs} pairs" in repr(found)


def test_what_differs_is_said(snapshot):
    a = random_result(0)
    b = random_result(1, n_blocks=4, width=12, tokens=("A", " dog", " sat", " up"), token=2)
    b = replace(b, request=replace(b.request, prompt="A dog sat up", untrained=3, token=2))
    assert np.abs(compare(a, a, View(k=4)).difference).max() == 0
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


def test_what_is_asked_by_name_is_what_a_view_asks():
    a, b = random_result(), random_result(seed=1)
    usual = compare(a, b, k=3)
    for asked in ({"k": 4}, {"definition": "alignment"}, {"role": "B"}, {"p": 2}):
        found, view = compare(a, b, **{"k": 3} | asked), View(**{"k": 3} | asked)
        assert found.mean() == compare(a, b, view).mean() != usual.mean()
    part = compare(a, b, k=3, blocks="2-4")
    assert part.view == View(3, blocks=(2, 3, 4))
    assert part.a_scores.blocks == (2, 3, 4)


def test_tables_and_arrays_hold_the_numbers_and_name_the_score():
    a, b = random_result(n_blocks=3), random_result(n_blocks=5, seed=1)
    for corrected, name in ((True, "corrected"), (False, "coupling")):
        found = compare(a, b, k=3, corrected=corrected)
        arrays, table = found.to_xarray(), found.to_pandas()
        assert arrays["difference"].dims == ("block", "basis")
        assert arrays["b_block"].values.tolist() == [1, 3, 5]
        assert list(table) == "block basis b_block b_basis a b difference".split()
        assert len(table) == found.mean().pairs
        row = table.iloc[0]
        at = arrays.sel(block=row.block, basis=row.basis)
        assert (float(at.a), float(at.b), float(at.difference)) == (row.a, row.b, row.difference)
        assert row.difference == pytest.approx(row.a - row.b)
        assert found.mean().a == pytest.approx(float(arrays.a.where(arrays.counted).mean()))
        assert table.attrs["score"] == arrays.attrs["score"] == name
        assert set(signed_differences(table, found)["score"]) == {name}
