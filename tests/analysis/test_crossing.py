"""Directions of one model against another's, with planted rotations."""

from dataclasses import replace

import numpy as np
import pytest
from cases import directions_result

from coupling_core import cross

D, K = 64, 8
A = directions_result(width=D, k=K)


def with_u(u):
    return replace(A, u=u.astype(np.float16))


def test_a_model_against_itself_is_not_turned():
    found = cross(A, A)
    assert (found.k, found.angles.shape) == (K // 2, (2, A.n_blocks, K // 2))
    assert found.angles.max() < 0.1  # degrees, of float16
    np.testing.assert_allclose(found.inside, 1, atol=1e-3)
    assert found.new_directions().empty


def test_a_block_that_is_turned_by_an_angle_is_found_by_it():
    """Each of its directions leaves the span of all that A keeps."""
    rng, block = np.random.default_rng(2), 2
    whole = A.u.astype(np.float64)
    own = whole[block - 1]
    outside = np.linalg.qr(np.column_stack([own, rng.standard_normal((D, K))]))[0][:, K:]
    for degrees in (5.0, 30.0, 80.0):
        turn, u = np.radians(degrees), whole.copy()
        u[block - 1] = np.cos(turn) * own + np.sin(turn) * outside
        found = cross(A, with_u(u), 4)
        assert found.angles[0, block - 1] == pytest.approx(degrees, abs=0.2)
        assert np.delete(found.angles[0], block - 1, 0).max() < 0.2
        assert found.angles[1].max() < 0.2  # what it reads is the same
        assert f"most in block {block} " in found.verdict
        assert found.inside[0, block - 1] == pytest.approx(np.cos(turn) ** 2, abs=5e-3)
        assert found.new[0, block - 1].all() == (degrees > 45)
        assert found.new.sum() == (4 if degrees > 45 else 0)


def test_directions_that_the_other_has_further_down_are_turned_and_not_new():
    """What is new lies outside the leading 2 K of the other's, and not K."""
    b = replace(A, u=np.roll(A.u, K // 2, axis=-1), v=np.roll(A.v, K // 2, axis=-1))
    found = cross(A, b, K // 2)
    assert found.angles == pytest.approx(90, abs=0.5)  # degrees, of float16
    np.testing.assert_allclose(found.inside, 1, atol=1e-2)
    assert not found.new.any()


def test_independent_models_are_at_chance_and_new_directions_name_what_is_beyond_it():
    b = directions_result(width=D, k=K, seed=9)
    found = cross(A, b)
    assert found.angles.mean((0, 1)) == pytest.approx(found.chance, abs=6)
    assert found.new.mean() > 0.9
    table = found.new_directions()
    assert table.inside.is_monotonic_increasing
    for row in table.to_dict("records"):
        readout = 0 if row["side"] == "u" else 1
        beyond = b.beyond_chance[readout, row["block"] - 1, row["component"] - 1]
        assert row["beyond_chance"] == beyond == bool(row["towards"])


def test_a_block_of_fewer_directions_has_no_angles():
    u = A.u.copy()
    u[1, :, 2:] = 0
    found = cross(A, with_u(u), 4)
    assert np.isnan(found.angles[0, 1]).all()
    assert np.isfinite(np.delete(found.angles[0], 1, 0)).all()
    assert np.isnan(found.inside[0, 1, 2:]).all()
