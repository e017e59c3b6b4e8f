"""Top-K SVD on planted matrices, and a certificate that refuses every way of being wrong."""

from functools import cache

import numpy as np
import pytest
import torch
from cases import haar
from checks import check_svd

from coupling_core.base.errors import ComputeError
from coupling_core.engine.pairs import svd as decomposition
from coupling_core.engine.pairs.svd import certify, top_svd

WIDTH, K = 64, 10


@cache
def bases(width: int, seed: int):
    rng = np.random.default_rng(seed)
    return haar(rng, width, width), haar(rng, width, width)


def planted(spectrum: np.ndarray, dtype: torch.dtype = torch.float32, seed: int = 0):
    """J = U diag(spectrum) V^T with known factors."""
    U, V = bases(len(spectrum), seed)
    return tuple(torch.tensor(x, dtype=dtype) for x in ((U * spectrum) @ V.T, U, spectrum, V))


GEOMETRIC = 3.0 * 0.9 ** np.arange(WIDTH)


@pytest.mark.parametrize("k", [K, 40, WIDTH])
def test_planted_triplets_are_found_and_certified(k):
    J, _, s, V = planted(GEOMETRIC)
    svd = top_svd(J, k)
    check_svd(J, svd, s)
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.rank == k
    assert svd.certificate.method == ("arpack" if (k + 1) * 5 <= WIDTH else "gram")
    projector = svd.v @ svd.v.T
    assert torch.norm(projector - V[:, :k] @ V[:, :k].T) < 1e-3
    assert svd.next_value == pytest.approx(float(s[k]), rel=1e-4) if k < WIDTH else True


WIDE = np.arange(300)
HOSTILE = {
    "slow": 3.0 * 0.97**WIDE,
    "steep": 3.0 * 0.7**WIDE,
    "flat": np.linspace(3.0, 2.9, 300),
    "a few above many": np.where(WIDE < 4, 20.0 / (1 + WIDE), 1 - WIDE / 600),
    "equal": np.full(300, 2.0),
    "ties across K": np.where(WIDE < 30, 2.0, 1.0),
    "two clusters": np.where(WIDE < 15, 2.0, 1.0) - 1e-6 * WIDE,
    "rank 5": np.where(WIDE < 5, 3.0, 0.0),
    "rank 5 and noise": np.where(WIDE < 5, 3.0, 1e-6),
    "six orders of magnitude": 10 ** (-6 * WIDE / 20),
    "large": 1e8 * 0.9**WIDE,
    "small": 1e-8 * 0.9**WIDE,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("k", [1, 20, 100])
@pytest.mark.parametrize("on_a_gpu", [False, True])
def test_the_triplets_of_any_spectrum_are_found(name, k, on_a_gpu, monkeypatch):
    if on_a_gpu:
        monkeypatch.setattr(decomposition, "_arpack", decomposition._chebyshev)
        monkeypatch.setattr(decomposition, "DENSE_FRACTION", 2)
    J, _, s, _ = planted(HOSTILE[name])
    found = top_svd(J, k)
    assert found.certificate.method == "arpack" or not on_a_gpu, "products did not find them"
    assert found.certificate.certified, found.certificate.reason
    rank = found.rank
    assert rank == min(k, int((HOSTILE[name] > 300 * 2**-23 * s[0].item()).sum()))
    assert found.s[:rank].numpy() == pytest.approx(s[:rank].numpy(), abs=3e-6 * float(s[0]))
    assert torch.norm(found.u[:, :rank].T @ found.u[:, :rank] - torch.eye(rank)) < 1e-5
    assert torch.norm(J @ found.v - found.u * found.s, dim=0).max() < 1e-5 * s[0]
    assert not torch.cat([found.u, found.v, found.s[None]])[:, rank:].any()


@pytest.mark.parametrize("on_a_gpu", [False, True])
def test_rows_that_stay_dependent_are_given_up_and_all_triplets_taken(on_a_gpu, monkeypatch):
    if on_a_gpu:
        monkeypatch.setattr(decomposition, "_arpack", decomposition._chebyshev)
    found = top_svd(torch.diag((torch.arange(300) < 5).float()), 20)
    assert found.certificate.certified, found.certificate.reason
    assert found.s.tolist() == [1] * 5 + [0] * 15


@pytest.mark.parametrize(("width", "k"), [(8, 1), (8, 8), (2, 1), (1, 1)])
def test_a_narrow_matrix_is_no_exception(width, k):
    J, _, s, _ = planted(3.0 * 0.9 ** np.arange(width))
    svd = top_svd(J, k)
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.s.numpy() == pytest.approx(s[:k].numpy(), rel=1e-5)


def test_a_matrix_that_is_not_finite_is_refused():
    J = planted(GEOMETRIC)[0]
    J[3, 4] = float("nan")
    for k in (3, 40):
        with pytest.raises(ComputeError, match="not finite"):
            top_svd(J, k)


@pytest.mark.gpu
def test_a_gpu_takes_products_and_certifies_them_and_a_tenth_of_a_wide_matrix_without_gaps():
    J, _, s, _ = planted(3.0 * 0.99 ** np.arange(1024))
    svd = top_svd(J.cuda(), 50)
    assert svd.certificate.method == "chebyshev"
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.s.cpu().numpy() == pytest.approx(s[:50].numpy(), rel=1e-4)
    generator = torch.Generator().manual_seed(0)
    found = top_svd(torch.randn(4096, 4096, generator=generator).cuda(), 409)
    assert found.certificate.method == "chebyshev"
    assert found.certificate.certified, found.certificate.reason


def test_the_same_matrix_gives_the_same_bits_and_right_vectors_with_a_positive_largest_entry():
    J = planted(GEOMETRIC)[0]
    first, second = top_svd(J, K), top_svd(J.clone(), K)
    assert torch.equal(first.u, second.u)
    assert torch.equal(first.v, second.v)
    assert (first.v.gather(0, first.v.abs().argmax(0, keepdim=True)) > 0).all()


LAST_OMITTED = [*range(K - 1), K]


def taken(take, spectrum=GEOMETRIC, *, exchanged=False):
    """The certificate of some of the exact triplets of a planted J."""
    J, U, s, V = planted(spectrum)
    left, right = (V, U) if exchanged else (U, V)
    return certify(J, left[:, take], s[take], right[:, take], "planted")


def test_wrong_triplets_are_refused_with_the_reason():
    assert taken([*range(K)]).certified
    middle = taken([0, 1, 2, 3, 5, 6, 7, 8, 9, 10])
    # Residuals alone would not notice that one is missing.
    assert middle.residual < 1e-6
    assert middle.orthonormality < 1e-5
    for certificate, reason in (
        (middle, "missed"),
        (taken(LAST_OMITTED), "missed"),
        (taken([0, 1, 2, 3, 4, 4, 5, 6, 7, 8]), "not orthonormal"),
        (taken([*range(K)], exchanged=True), "residual"),
    ):
        assert not certificate.certified
        assert reason in certificate.reason


def test_an_omission_is_noticed_where_the_gap_exceeds_the_tolerance():
    for gap, noticed in ((2e-5, False), (1e-3, True)):
        spectrum = GEOMETRIC.copy()
        spectrum[K - 1] = spectrum[K] * (1 + gap)
        assert taken(LAST_OMITTED, spectrum).certified != noticed
