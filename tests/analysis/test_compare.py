"""Two results side by side: which blocks are matched, and what their difference comes to."""

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from cases import SCORES, VIEW, planted, random_result, trajectory_result

from coupling_core import InputError, View, mean_off_diagonal, measure, score_pairs
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


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        (3, 3, [(1, 1), (2, 2), (3, 3)]),
        (3, 5, [(1, 1), (2, 3), (3, 5)]),
        (5, 3, [(1, 1), (3, 2), (5, 3)]),
        # r of 4 blocks: 0, 1/3, 2/3, 1; of 6: 0, 0.2, 0.4, 0.6, 0.8, 1. 1/3 is nearest 0.4.
        (4, 6, [(1, 1), (2, 3), (3, 4), (4, 6)]),
        # r = 1/2 lies half way between 1/3 and 2/3: the shallower is taken.
        (3, 4, [(1, 1), (2, 2), (3, 4)]),
        (1, 4, [(1, 1)]),
        (2, 9, [(1, 1), (2, 9)]),
    ],
)
def test_blocks_are_matched_by_nearest_relative_depth(left, right, pairs):
    assert match_blocks(left, right) == pairs


@pytest.mark.parametrize("shallow", range(2, 33))
def test_every_block_of_the_shallower_model_has_a_partner_of_its_own(shallow):
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
    floors = [of.chance[raw.counted].mean() for of in (raw.a_scores, raw.b_scores)]
    assert f"Chance gives {floors[0]:.3f} in A and {floors[1]:.3f} in B." in raw.verdict
    assert "Chance" not in compare(a, b, view).verdict
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
    assert "correlate" not in found.verdict
    assert "correlation" not in repr(found)


def test_a_comparison_serves_as_a_result_does(tmp_path):
    a, b = planted(), random_result()
    found = compare(a, b)
    assert found.view == View(min(a.default_k, b.default_k), blocks=found.view.blocks)
    table = found.to_pandas()
    assert list(table.columns) == [*DIFFERENCE_COLUMNS]
    assert (table.a - table.b).to_numpy() == pytest.approx(table.difference.to_numpy())
    assert len(table) == summarise(found).pairs
    assert len(repr(found)) < 300
    assert f"A - B {summarise(found).difference:.3f}" in repr(found)
    assert found.plot().save(tmp_path / "map.html").stat().st_size > 10_000
    assert [note.text for note in found.plot().figure.layout.annotations[:3]] == ["A", "B", "A - B"]


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
    assert repr(found).startswith("TokenComparison(A: LlamaForCausalLM in blocks 2 and 1, ")
    with pytest.raises(InputError, match="the blocks are those of the results"):
        compare(one, other, blocks="1-2")
    with pytest.raises(InputError, match="A and B have other tokens"):
        compare(one, measure((3, 1, 4), other_block=1, **asked))
    with pytest.raises(InputError, match=r"A is a result of kind 'fixed-output', .*another one"):
        compare(one, random_result())


def test_a_k_that_one_side_lacks_is_refused_with_a_remedy():
    wide, narrow = random_result(k_max=8), random_result(k_max=6, k_view=4)
    with pytest.raises(InputError, match=r"B \(random\) holds 1\.\.6 .* Take K = 6 or less, or m"):
        compare(wide, narrow, View(k=7))
    with pytest.raises(InputError, match=r"K = 7 .* A .* measure A again with a K of 7"):
        compare(narrow, wide, View(k=7))
    full = random_result(width=6, k_max=6)
    with pytest.raises(InputError, match="A has width 6, which no K can pass"):
        compare(full, wide, View(k=7))


def test_one_block_is_no_comparison():
    with pytest.raises(InputError, match="a comparison needs two"):
        compare(planted(SCORES), planted(np.eye(3)), replace(VIEW, blocks=(1, 2)))


def test_a_score_that_no_pair_has_is_refused():
    result = random_result()
    view = View(k=1, definition="preprint")
    with pytest.raises(InputError, match="choose another K or definition"):
        compare(result, result, view)
    assert compare(result, result, view, corrected=False).counted.any()


def test_a_result_is_equal_to_itself_and_says_so():
    result = random_result()
    found = compare(result, result, View(k=4))
    assert np.abs(found.difference).max() == 0
    assert differences(found.a, found.b) == ["A and B are the same result"]


def test_what_differs_is_said():
    a = random_result(0)
    b = random_result(1, n_blocks=4, width=12, tokens=("A", " dog", " sat", " up"), token=2)
    b = replace(b, request=replace(b.request, prompt="A dog sat up", untrained=3, token=2))
    told = differences(a, b)
    assert told == [
        "model: random against random, untrained (seed 3)",
        "width d: 16 against 12",
        "prompt: 'The cat sat down' against 'A dog sat up'",
        "token: 4 of 4, ' down' against 2 of 4, ' dog'",
        "blocks: 5 against 4, matched by nearest relative depth (l - 1) / (L - 1)",
    ]


def test_weights_of_one_name_that_differ_are_told_apart():
    a, b = random_result(0), random_result(1)
    assert differences(a, b) == [
        "the model itself, under one name: its weights, its settings or its code"
    ]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("cc.compare('smollm2-135m', 'other')", "A is a str: expected a result"),
        ("cc.summarise('something')", "expected what compare(a, b) gives"),
    ],
)
def test_what_is_no_result_is_told(program, told):
    """In a process of its own, where annotations are not checked."""
    done = subprocess.run(
        [sys.executable, "-c", f"import coupling_core as cc; {program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["score_pairs", "layer_graph", "effect_maps", "project_paths"])
def test_a_result_of_another_kind_is_told_with_the_kind_that_is_needed(name):
    program = f"import cases, coupling_core as cc; cc.{name}(cases.spectrum_result(), None)"
    support = str(Path(__file__).parents[1] / "support")
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([support, str(Path(__file__).parents[2])])},
    )
    assert "a result of kind 'spectrum' came where one of kind" in done.stderr.splitlines()[-1]


def test_k_is_said_as_for_scores():
    a, b = random_result(), random_result(seed=1)
    found = compare(a, b, k=3)
    assert found.a_scores == a.scores(k=3)
    assert found.b_scores == b.scores(k=3)
    with pytest.raises(InputError, match="k=3 came beside a view"):
        compare(a, b, View(k=3), k=3)


def test_a_k_that_is_most_of_a_width_is_told():
    wide, narrow = random_result(width=64, k_max=8), random_result(width=10, k_max=8)
    told = compare(wide, narrow, k=8).verdict
    assert "K = 8 is 80\u00a0% of the width of B (10) and 12\u00a0% of the other's" in told
    assert "at a tenth of the width: k=6 of A, k=1 of B, which compare_models(" in told
    assert "A has a width of 64, and B of 10." in told
    assert "of the width" not in compare(wide, narrow, k=5).verdict


def test_another_kind_is_told_what_to_call():
    with pytest.raises(InputError, match=r"depth-wise, with measure\(\.\.\.\) in Python or `coup"):
        compare(random_result(), trajectory_result())


def test_blocks_are_named_in_place_of_a_view_s():
    one, other = planted(), random_result(n_blocks=5)
    found = compare(one, other, blocks="2-4")
    assert found.a_scores.blocks == (2, 3, 4)
    assert compare(one, other, View(found.view.k, blocks=(2, 3, 4))).view == found.view
    with pytest.raises(InputError, match="leave out one"):
        compare(one, other, VIEW, blocks="2-4")


def test_a_definition_is_said_as_for_scores_and_told_where_it_is_not_the_papers():
    a, b = random_result(), random_result(seed=1)
    found = compare(a, b, k=3, definition="alignment")
    assert found.a_scores == a.scores(k=3, definition="alignment")
    assert found.view == View(3, "alignment", blocks=found.view.blocks)
    assert "at K = 3 (" in found.verdict
    assert "lignment)" in found.verdict
    assert "at K = 3, the mean" in compare(a, b, k=3).verdict
    with pytest.raises(InputError, match="definition='alignment' came beside a view"):
        compare(a, b, View(k=3), definition="alignment")


def test_a_role_is_said_beside_k():
    a, b = random_result(), random_result(seed=1)
    said, viewed = compare(a, b, k=3, role="B"), compare(a, b, View(k=3, role="B"))
    assert said.mean() == viewed.mean() != compare(a, b, k=3).mean()


def test_the_maps_are_named_arrays():
    found = compare(random_result(n_blocks=3), random_result(n_blocks=5, seed=1), k=3)
    arrays = found.to_xarray()
    assert arrays["difference"].dims == ("block", "basis")
    assert arrays["b_block"].values.tolist() == [1, 3, 5]
    row = found.to_pandas().iloc[0]
    at = arrays.sel(block=row.block, basis=row.basis)
    assert (float(at.a), float(at.b), float(at.difference)) == (row.a, row.b, row.difference)
    assert arrays.attrs == found.attributes()
    assert found.mean().a == pytest.approx(float(arrays.a.where(arrays.counted).mean()))


def test_tables_say_which_score_they_have():
    a, b = random_result(), random_result(seed=1)
    for corrected, name in ((True, "corrected"), (False, "coupling")):
        found = compare(a, b, k=3, corrected=corrected)
        assert found.to_pandas().attrs["score"] == found.to_xarray().attrs["score"] == name
        assert set(signed_differences(found.to_pandas(), found)["score"]) == {name}


def test_two_of_one_name_say_in_what_they_differ():
    a = random_result()
    assert "A and B are the same result." in compare(a, a, k=3).verdict
    assert "They differ in " in compare(a, random_result(n_blocks=4, seed=1), k=3).verdict


def test_two_tokens_of_one_prompt_are_told_apart():
    a = random_result()
    b = replace(a, token=2)
    assert f"A is random, token {a.token}; B is random, token 2." in compare(a, b, k=3).verdict


def test_two_models_say_of_which_prompts_and_tokens_they_are():
    a, b = random_result(), random_result(seed=1)
    other = replace(b, identity={"name": "other"})
    assert "A is random; B is other. Over" in compare(a, other, k=3).verdict
    elsewhere = replace(other, request=replace(other.request, prompt="A dog"), token=2)
    told = compare(a, elsewhere, k=3).verdict
    assert f"A is random, {a.prompt_text!r}, token {a.token}; B is other, 'A dog', token 2." in told


def test_the_order_of_a_norm_is_said_as_for_scores():
    a, b = random_result(), random_result(seed=1)
    assert compare(a, b, k=3, p=2).mean() == compare(a, b, View(k=3, p=2)).mean()
    assert compare(a, b, k=3, p=2).mean() != compare(a, b, k=3).mean()
    assert ", p = 2), the mean" in compare(a, b, k=3, p=2).verdict
    assert "K = 3 (p = 2), mean" in repr(compare(a, b, k=3, p=2))
    assert "at K = 3 (p = 2, role B), c is" in a.scores(k=3, p=2, role="B").verdict
    assert "at K = 3, c is" in a.scores(k=3).verdict
    with pytest.raises(InputError, match="and 'alignment' has none: leave it out"):
        compare(a, b, k=3, definition="alignment", p=2)


def test_the_blocks_that_are_compared_are_told_where_they_are_not_all():
    a, b = random_result(n_blocks=4), random_result(n_blocks=6, seed=1)
    told = "depth, 1 to 4 of the 4 of A with 1, 3 to 4, 6 of the 6 of B, and the means are"
    assert told in compare(a, b, k=3).verdict
    same = compare(a, random_result(n_blocks=4, seed=1), k=3, blocks="2-4")
    assert "Over 6 pairs l ≠ l' of blocks 2 to 4 at K = 3" in same.verdict
    assert "blocks" not in compare(a, random_result(n_blocks=4, seed=1), k=3).verdict


def test_a_share_of_the_width_is_no_k_of_two():
    a, b = random_result(width=64, k_max=8), random_result(width=10, k_max=8)
    with pytest.raises(InputError, match=r"0\.1 of the width is K = 6 of A and 1 of B"):
        inspect.unwrap(compare)(a, b, k=0.1)
