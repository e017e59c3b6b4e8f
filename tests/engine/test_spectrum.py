"""Spectra and products of matrices whose numbers are known."""

import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch
from cases import haar

from coupling_core import ComputeError
from coupling_core.analysis.spectra import effective_rank, participation_ratio
from coupling_core.engine import spectrum


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array, np.float64))


def orthogonal(seed, d):
    return haar(np.random.default_rng(seed), d, d)


def test_eigenvalues_are_those_of_forty_digits():
    d = 16
    M = np.eye(d) + np.random.default_rng(d).standard_normal((d, d)) / (2 * d**0.5)
    found = spectrum.eigenvalues(tensor(M))
    with mpmath.workdps(40):
        exact = np.array([complex(x) for x in mpmath.eig(mpmath.matrix(M.tolist()), right=False)])
    distance = np.abs(found.values.numpy()[:, None] - exact[None])
    assert len(set(distance.argmin(1))) == d
    assert (distance.min(1) <= found.condition.numpy() * 1e-14 * np.linalg.norm(M)).all()
    assert found.residual < 1e-14
    moduli = found.values.abs()
    assert (moduli[1:] <= moduli[:-1] + 1e-12).all()


def test_the_condition_is_that_of_left_and_right_eigenvectors():
    M = np.random.default_rng(16).standard_normal((16, 16))
    values, left, right = scipy.linalg.eig(M, left=True, right=True)
    expected = 1 / np.abs((left.conj() * right).sum(0))
    found = spectrum.eigenvalues(tensor(M))
    for value, condition in zip(values, expected, strict=True):
        near = int((found.values - value).abs().argmin())
        assert float(found.condition[near]) == pytest.approx(condition, rel=1e-6)


def test_a_normal_matrix_has_no_departure_and_sure_eigenvalues():
    Q = orthogonal(0, 24)
    M = Q @ np.diag(np.linspace(-2, 3, 24)) @ Q.T
    found = spectrum.eigenvalues(tensor(M))
    assert spectrum.departure(tensor(M), found.values) < 1e-7
    np.testing.assert_allclose(found.condition, 1, rtol=1e-9)
    np.testing.assert_allclose(sorted(found.values.real), np.linspace(-2, 3, 24), atol=1e-12)


def test_a_jordan_block_has_its_known_departure_and_no_sure_eigenvalue():
    d = 16
    M = np.eye(d) * 0.5 + np.eye(d, k=1)
    exact = ((d - 1) / (d - 1 + d * 0.25)) ** 0.5
    assert spectrum.departure(tensor(M), torch.full((d,), 0.5 + 0j)) == pytest.approx(exact)
    # LAPACK finds 0.5 itself here, and one eigenvector d times: nothing is known of the others.
    assert (spectrum.eigenvalues(tensor(M)).condition > 1e7).all()


def test_a_rotation_of_the_residual_stream_changes_no_number():
    J, Q = np.random.default_rng(2).standard_normal((20, 20)), orthogonal(3, 20)
    for of in (
        lambda M: spectrum.departure(M, spectrum.eigenvalues(M).values),
        spectrum.asymmetry,
        spectrum.participation,
    ):
        assert of(tensor(Q @ J @ Q.T)) == pytest.approx(of(tensor(J)), rel=1e-10)


def test_asymmetry_of_known_matrices():
    A = np.random.default_rng(4).standard_normal((6, 6))
    assert spectrum.asymmetry(tensor(A + A.T)) == 0
    assert spectrum.asymmetry(tensor(A - A.T)) == float("inf")
    assert spectrum.asymmetry(tensor(np.triu(np.ones((2, 2)), 1))) == pytest.approx(1)


def test_products_of_planted_frames_have_the_planted_rank():
    rank = 7
    frame = haar(np.random.default_rng(rank), 24, rank)
    maps = [tensor(Q @ frame @ frame.T) for Q in (np.eye(24), orthogonal(5, 24))]
    *_, P = spectrum.products(maps)
    assert spectrum.participation(P) == pytest.approx(rank)
    s = spectrum.singular_values(P)[None]
    assert effective_rank(s)[0] == pytest.approx(rank)
    assert participation_ratio(s)[0] == pytest.approx(rank)


def test_every_range_is_the_product_of_its_blocks_in_their_order():
    maps = [np.random.default_rng(seed).standard_normal((6, 6)) for seed in range(4)]
    *_, P = spectrum.products([tensor(M) for M in maps[:2]])
    expected = maps[1] @ maps[0]
    np.testing.assert_allclose(P, expected / np.linalg.norm(expected), atol=1e-14)
    found = spectrum.range_participation([tensor(M) for M in maps])
    for first in range(4):
        P = np.eye(6)
        for last in range(first, 4):
            P = maps[last] @ P
            s = np.linalg.svd(P, compute_uv=False)
            assert found[first, last] == pytest.approx(participation_ratio(s[None])[0])
    assert np.isnan(found[np.tril_indices(4, -1)]).all()


def test_exponents_are_the_logarithms_of_growth():
    Q = orthogonal(6, 8)
    growth = np.array([2.0, 1.5, 1, 0.9, 0.5, 0.3, 0.1, 0.01])
    maps = [tensor(Q @ np.diag(growth) @ Q.T)] * 300
    np.testing.assert_allclose(spectrum.exponents(maps), np.log(growth), atol=0.02)
    # They add up to the logarithm of the determinant, whatever the directions are.
    mixed = [np.random.default_rng(s).standard_normal((8, 8)) for s in range(5)]
    told = spectrum.exponents([tensor(M) for M in mixed]).sum() * 5
    assert told == pytest.approx(sum(np.linalg.slogdet(M)[1] for M in mixed))


def test_a_product_that_vanishes_is_told_and_not_divided_by():
    down = tensor(np.diag([0.0, 1.0], k=0))
    other = tensor(np.diag([1.0, 0.0]))
    with pytest.raises(ComputeError, match="2 blocks"):
        list(spectrum.products([down, other]))


def test_shuffled_orders_are_the_same_each_time_and_differ_from_one_another():
    maps = [tensor(np.random.default_rng(s).standard_normal((6, 6))) for s in range(5)]
    found = spectrum.shuffled_singular_values(maps)
    np.testing.assert_array_equal(found, spectrum.shuffled_singular_values(maps))
    assert found.shape == (spectrum.SHUFFLES, 6)
    assert len({round(x, 9) for x in found[:, 0]}) > 1
    np.testing.assert_allclose((found**2).sum(1), 1)
