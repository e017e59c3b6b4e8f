"""Overlap and pairing, in worlds where both are known."""

import numpy as np
import pytest
from cases import depth_result, haar, random_result

from coupling_core import DEFINITIONS, InputError, View, compare, score_by_k, score_pairs
from coupling_core.analysis.rotations import entry_by_rotation
from coupling_core.analysis.scores import mean_by_k

WIDTH, K, DRAWN = 48, 6, 10_000
S = np.array([9.0, 6.0, 4.0, 3.0, 2.5, 2.0])
ROTATED = [name for name, each in DEFINITIONS.items() if each.rotated]
RESULT = random_result()


def bases_of(world: str, rng: np.random.Generator, U: np.ndarray, V: np.ndarray):
    """A basis that has to do with that of U and V what the world says."""
    match world:
        case "same pairs":
            return U, V
        case "rotated in its subspaces":
            return U @ haar(rng, K, K), V @ haar(rng, K, K)
        case "independent":
            return haar(rng, WIDTH, K), haar(rng, WIDTH, K)
        case "paired with another":
            return U, np.roll(V, 1 + rng.integers(K - 1), axis=1)
        case "signs of one side flipped":
            return U, -V
    raise AssertionError(world)


def scores_in(world: str, view: View) -> dict[str, np.ndarray]:
    """Of one Jacobian in the bases of forty others."""
    rng = np.random.default_rng(0)
    first = haar(rng, WIDTH, K), haar(rng, WIDTH, K)
    bases = [first, *(bases_of(world, rng, *first) for _ in range(40))]
    result = depth_result(np.stack([u * S @ v.T for u, v in bases]), K, K)
    return {name: values[0, 1:] for name, values in score_pairs(result, view).arrays.items()}


@pytest.mark.parametrize(
    ("world", "overlap", "paired"),
    [
        ("same pairs", 1, 1),
        ("rotated in its subspaces", 1, 0),
        ("independent", None, 0),
        ("paired with another", 1, 0),
        ("signs of one side flipped", 1, 1 - np.sqrt(2)),
    ],
)
def test_overlap_is_of_subspaces_and_pairing_of_vectors(world, overlap, paired):
    shared = scores_in(world, View(K, "overlap"))
    expected = shared["chance"].mean() if overlap is None else overlap
    for name, found, wanted in (
        ("overlap", shared["coupling"], expected),
        ("paired", scores_in(world, View(K, level="rotations"))["corrected"], paired),
    ):
        error = found.std() / np.sqrt(len(found))
        assert found.mean() == pytest.approx(wanted, abs=3 * error + 2e-6), name
    against_frames = scores_in(world, View(K))["corrected"].mean()
    assert (against_frames < -0.02) == (overlap == 1 and paired <= 0)  # unpaired, and below chance


@pytest.mark.parametrize("definition", ROTATED)
@pytest.mark.parametrize("k", [2, K])
def test_the_level_is_the_score_at_what_random_rotations_give(definition, k):
    """On average of the squares that the formula has, of which the score is a root."""
    rng, A = np.random.default_rng(1), np.random.default_rng(2).normal(size=(K, K))
    turned = np.stack([haar(rng, k, k).T @ A[:k, :k] @ haar(rng, k, k) for _ in range(DRAWN)])
    s, diagonal = S[:k], np.diagonal(turned, axis1=-2, axis2=-1)
    whole = (turned**2).sum((-2, -1))
    squares = {
        "released": ((np.abs(turned) - np.diag(s)) ** 2).sum((-2, -1)) / (s**2).sum(),
        "page": ((turned - np.diag(s)) ** 2).sum((-2, -1)) / (s**2).sum(),
        "paper": ((turned - np.diag(s)) ** 2).sum((-2, -1)) / s.sum() ** 2,
        "preprint": 1 - (diagonal**2).sum(-1) / whole,
        "alignment": (1 - diagonal.sum(-1) / s.sum()) ** 2 - (diagonal.sum(-1) / s.sum()) ** 2,
    }[definition]
    of_corners = np.array([np.linalg.norm(A[:n, :n]) ** 2 for n in range(1, k + 1)])
    off = of_corners - np.cumsum(np.diag(A)[:k] ** 2)
    entry = entry_by_rotation(A, range(1, k + 1))
    level = DEFINITIONS[definition].rotated(np.diag(A)[:k], off, s, 1.0, entry)[-1]
    error = squares.std() / np.sqrt(DRAWN)
    assert (1 - level) ** 2 == pytest.approx(squares.mean(), abs=4 * error)


def test_an_entry_of_a_rotated_matrix_is_exact():
    """In three dimensions an entry of a random unit vector is uniform, of size 1/2 on average."""
    one, two = (haar(np.random.default_rng(seed), 3, 1) for seed in (0, 1))
    found = entry_by_rotation(8 * one @ two.T, [1, 3, 4])  # of rank 1: a product of two of these
    assert found[:2] == pytest.approx([8 * abs(one[0, 0] * two[0, 0]), 8 / 4], rel=1e-7)
    assert np.isnan(found[2])
    assert entry_by_rotation(np.zeros((2, 2)), [2]) == 0


def test_the_paired_score_is_one_number_whatever_the_norm():
    """(1 - c) and (1 - level) have the norm of S alike, and so their ratio has none."""
    views = [View(5, *of, level="rotations") for of in (("paper", 1.0), ("paper", 3.0), ("page",))]
    first, *others = (score_pairs(RESULT, view).corrected for view in views)
    for other in others:
        assert other == pytest.approx(first, abs=1e-12)


@pytest.mark.parametrize("definition", ROTATED)
def test_the_curve_over_k_passes_through_the_map(definition):
    view = View(4, definition, role="B", level="rotations")
    by_k, level = score_by_k(RESULT, 2, 4, view)
    values = score_pairs(RESULT, view)
    assert by_k[3] == pytest.approx(values.coupling[1, 3], abs=1e-12)
    assert level[3] == pytest.approx(values.chance[1, 3], abs=1e-12)
    mean = values.mean()
    means = [curve[3] for curve in mean_by_k(RESULT, view)]
    assert means == pytest.approx([mean.coupling, mean.chance, mean.corrected], abs=1e-12)


def test_the_level_of_the_released_score_ends_with_the_stored_corner():
    view, past = (View(k, "released", level="rotations") for k in (4, 5))
    assert RESULT.k_view == 4
    A, s = RESULT.matrix(2, 5), RESULT.singular_values[1, :4].astype(float)
    off = np.linalg.norm(A) ** 2 - np.cumsum(np.diag(A) ** 2)  # right for the last K alone
    entry = entry_by_rotation(A, range(1, 5))
    level = DEFINITIONS["released"].rotated(np.diag(A), off, s, 1.0, entry)[-1]
    assert score_pairs(RESULT, view).chance[1, 4] == pytest.approx(level, abs=1e-3)
    with pytest.raises(InputError, match=r"has side 4, and K = 5 was asked for"):
        score_pairs(RESULT, past)
    assert np.isnan(score_by_k(RESULT, 1, 2, past)[1]).tolist() == [False] * 4 + [True] * 4


def test_a_rotation_leaves_overlap_as_it_is():
    assert View(3, "overlap", level="rotations") == View(3, "overlap")


def test_a_mean_below_chance_is_explained():
    rng = np.random.default_rng(4)
    first = haar(rng, WIDTH, K), haar(rng, WIDTH, K)
    for world, told in (("rotated in its subspaces", True), ("independent", False)):
        bases = [bases_of(world, rng, *first) for _ in range(6)]
        result = depth_result(np.stack([u * S @ v.T for u, v in bases]), K, K)
        assert ("share subspaces (overlap 1.000" in result.verdict) == told
        of_rotations = View(K, level="rotations")
        assert "share" not in result.part("views").verdict(result, of_rotations)
        assert ("mean of B is below chance" in compare(RESULT, result, k=K).verdict) == told
