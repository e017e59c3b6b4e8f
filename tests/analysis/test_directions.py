"""Ties, tracks and shared subspaces of directions, with planted answers."""

from dataclasses import replace

import numpy as np
import pytest
from cases import directions_result

from coupling_core import DirectionsView
from coupling_core.analysis import directions as of
from coupling_core.base.records import Certificate

D, K, BLOCKS, DRAWS = 64, 6, 8, 40
RESULT = directions_result()


def bases(seed, planted, count=BLOCKS):
    """Subspaces that have so many directions in common, and are random otherwise."""
    rng = np.random.default_rng(seed)
    common = np.linalg.qr(rng.standard_normal((D, planted)))[0]
    return [
        np.linalg.qr(np.column_stack([common, rng.standard_normal((D, K - planted))]))[0]
        for _ in range(count)
    ]


@pytest.mark.parametrize("planted", [0, 1, 3])
def test_planted_common_directions_are_counted(planted):
    """None where the blocks are independent; 95 % of the draws must be right."""
    found = [of.shared_subspace(bases(seed, planted), seed=seed)[-1] for seed in range(DRAWS)]
    assert found.count(planted) >= 0.95 * DRAWS


def test_the_shared_directions_are_the_planted_ones():
    some = bases(5, 2)
    directions, share, *_ = of.shared_subspace(some)
    overlap = directions[:, :2].T @ some[0][:, :2]
    np.testing.assert_allclose(np.linalg.svd(overlap)[1], 1, atol=1e-6)
    np.testing.assert_allclose(share[:2], 1, atol=1e-6)
    # Each pair of three planes shares another line, and no more are shared than a plane has.
    lines = np.eye(D)[:, :3]
    found = of.shared_subspace([lines[:, [0, 1]], lines[:, [0, 2]], lines[:, [1, 2]]])
    np.testing.assert_allclose(found[1], 2 / 3)
    assert found[-1] == found[0].shape[1] == 2


def test_a_direction_that_a_block_lacks_is_shared_by_nobody():
    """Columns past the rank are zero, and stand for no subspace."""
    u = RESULT.u.copy()
    u[1:3, :, 2:] = 0
    found = of.shared_of(replace(RESULT, u=u), DirectionsView((2, 3), 4))
    kept = [np.linalg.qr(RESULT.u[at, :, :2].astype(float))[0] for at in (1, 2)]
    np.testing.assert_allclose(found.share, of.shared_subspace(kept)[1][:4], atol=1e-9)
    by_name = of.shared_of(RESULT, side="v", blocks="2-3", leading=4)
    by_view = of.shared_of(RESULT, DirectionsView((2, 3), 4), "v")
    assert (by_name.blocks, of.shared_of(RESULT).blocks) == ((2, 3), (1, 2, 3, 4))
    np.testing.assert_array_equal(by_name.directions, by_view.directions)
    assert (of.held(replace(RESULT, u=np.zeros_like(u)), np.eye(RESULT.width)[0], "u") == 0).all()


def test_what_prompts_share_is_counted_beside_chance():
    like, n = directions_result(width=D, k=K), 6
    for planted in (0, 2):
        by_block = [bases(planted, planted, n) for _ in range(like.n_blocks)]
        frames = np.stack(by_block, axis=1).astype(np.float16)  # (prompt block d k)
        ids = np.arange(4)
        prompts = [replace(like, u=u, token_ids=ids + at) for at, u in enumerate(frames)]
        found = of.between_prompts(prompts, DirectionsView((2, 3), K))
        assert found.blocks == (2, 3)
        assert found.shared.tolist() == found.to_pandas().shared.tolist() == [planted] * 2
        assert (found.angles[:, :planted] < 0.1).all()
        if not planted:
            np.testing.assert_allclose(found.angles.mean(0), found.chance, atol=5)


def test_neighbours_that_rounding_cannot_tell_apart_are_tied():
    s = RESULT.singular_values.copy()
    s[1] = np.linspace(4, 1, RESULT.count)
    s[1, 3] = s[1, 2] * (1 - 1e-5)
    found = replace(RESULT, singular_values=s)
    assert np.flatnonzero(of.tied(found)[1]).tolist() == [2]
    assert of.gaps(found)[1, 2] == pytest.approx((s[1, 2] - s[1, 3]) / s[1, 0], rel=1e-3)
    loose = Certificate(True, "full", 0.0, 0.05)
    assert of.tied(replace(found, certificates=(loose,) * RESULT.n_blocks))[1].sum() > 1


def test_a_track_is_the_diagonal_in_its_own_units():
    stored = RESULT.matrices[:, 1, 2, 2].astype(float) * RESULT.singular_values[:, 0]
    np.testing.assert_array_equal(of.track(RESULT, 2, 3), stored)
    rng = np.random.default_rng(0)
    J = rng.standard_normal((D, D))
    u, v = (x / np.linalg.norm(x, axis=0) for x in rng.standard_normal((2, D, 4000)))
    planted = replace(RESULT, width=D, jacobian_norm=np.full(4, np.linalg.norm(J)))
    inside = np.abs(np.einsum("dk,de,ek->k", u, J, v)) < of.track_chance(planted)[0]
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


def test_counts_are_of_the_leading_directions():
    np.testing.assert_array_equal(of.counts(RESULT, 2), RESULT.beyond_chance[..., :2].sum(-1))
    assert of.viewed(RESULT, DirectionsView((-1,), 2)) == ((RESULT.n_blocks,), 2)
