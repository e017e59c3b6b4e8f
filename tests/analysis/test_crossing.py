"""Directions of one model against another's, with planted rotations."""

from dataclasses import replace

import numpy as np
import pytest
from cases import directions_result

from coupling_core import InputError, cross

D, K = 64, 8
A = directions_result(width=D, k=K)


def with_u(u):
    return replace(A, u=u.astype(np.float16))


def test_a_model_against_itself_is_not_turned():
    found = cross(A, A)
    assert (found.k, found.angles.shape) == (K // 2, (2, A.n_blocks, K // 2))
    assert found.angles.max() < 0.1  # degrees, of float16
    np.testing.assert_allclose(found.inside, 1, atol=1e-3)
    assert not found.new.any()
    assert found.new_directions().empty
    assert found.verdict == f"A and B are one result: the leading {K // 2} directions are the same."
    again = cross(A, replace(A, key="another"))
    assert "0 lie less than half" in again.verdict


@pytest.mark.parametrize("degrees", [5.0, 30.0, 80.0])
def test_a_block_that_is_turned_by_an_angle_is_found_by_it(degrees):
    """Each of its directions leaves the span of all that A keeps."""
    rng = np.random.default_rng(2)
    u = A.u.astype(np.float64)
    block = 2
    outside = np.linalg.qr(np.column_stack([u[block - 1], rng.standard_normal((D, K))]))[0][:, K:]
    turn = np.radians(degrees)
    u[block - 1] = np.cos(turn) * u[block - 1] + np.sin(turn) * outside
    found = cross(A, with_u(u), 4)
    assert found.angles[0, block - 1] == pytest.approx(degrees, abs=0.2)
    others = np.delete(found.angles[0], block - 1, 0)
    assert others.max() < 0.2
    assert found.angles[1].max() < 0.2  # what it reads is the same
    assert f"most in block {block} " in found.verdict
    assert found.inside[0, block - 1] == pytest.approx(np.cos(turn) ** 2, abs=5e-3)
    assert found.new[0, block - 1].all() == (degrees > 45)
    assert found.new.sum() == (4 if degrees > 45 else 0)


def test_independent_models_are_at_chance():
    found = cross(A, directions_result(width=D, k=K, seed=9))
    assert found.angles.mean((0, 1)) == pytest.approx(found.chance, abs=6)
    assert found.new.mean() > 0.9


def test_a_new_direction_names_tokens_only_beyond_chance():
    b = directions_result(width=D, k=K, seed=9)
    table = cross(A, b).new_directions()
    assert table.inside.is_monotonic_increasing
    for row in table.to_dict("records"):
        readout = 0 if row["side"] == "u" else 1
        beyond = b.beyond_chance[readout, row["block"] - 1, row["component"] - 1]
        assert row["beyond_chance"] == beyond
        assert bool(row["towards"]) == bool(beyond)


def test_a_block_of_fewer_directions_has_no_angles():
    u = A.u.copy()
    u[1, :, 2:] = 0
    found = cross(A, with_u(u), 4)
    assert np.isnan(found.angles[0, 1]).all()
    assert np.isfinite(np.delete(found.angles[0], 1, 0)).all()
    assert np.isnan(found.inside[0, 1, 2:]).all()
    assert "in the median" in found.verdict


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"token": 1}, "measured tokens"),
        ({"token_ids": A.token_ids + 1}, "over the same tokens"),
        ({"request": replace(A.request, final_norm="exclude")}, "final norm"),
    ],
    ids=["token", "tokens", "norm"],
)
def test_what_cannot_be_compared_is_refused_with_its_reason(changes, expected):
    with pytest.raises(InputError, match=expected):
        cross(A, replace(A, **changes))


def test_other_shapes_and_too_many_directions_are_refused():
    with pytest.raises(InputError, match="widths, and 64 and 32 came"):
        cross(A, directions_result(width=32, k=K))
    with pytest.raises(InputError, match="numbers of blocks"):
        cross(A, directions_result(n_blocks=3, width=D, k=K))
    for k in (0, 5):
        with pytest.raises(InputError, match=rf"K must lie in 1..4 .* and {k} came"):
            cross(A, A, k)
