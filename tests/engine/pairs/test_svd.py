"""Top-K SVD on planted matrices, and a certificate that refuses every way of being wrong."""

import numpy as np
import pytest
import torch
from cases import haar
from checks import check_svd

from coupling_core.engine.pairs import krylov
from coupling_core.engine.pairs import svd as decomposition
from coupling_core.engine.pairs.svd import certify, top_svd

WIDTH, K = 64, 10


def planted(spectrum: np.ndarray, dtype: torch.dtype = torch.float32, seed: int = 0):
    """J = U diag(spectrum) V^T with known factors."""
    rng = np.random.default_rng(seed)
    U, V = haar(rng, len(spectrum), len(spectrum)), haar(rng, len(spectrum), len(spectrum))
    return tuple(torch.tensor(x, dtype=dtype) for x in ((U * spectrum) @ V.T, U, spectrum, V))


GEOMETRIC = 3.0 * 0.9 ** np.arange(WIDTH)


@pytest.mark.parametrize(
    ("k", "dtype"), [(K, torch.float32), (40, torch.float32), (WIDTH, torch.float64)], ids=str
)
def test_planted_triplets_are_found_and_certified(k, dtype):
    J, _, s, V = planted(GEOMETRIC, dtype)
    svd = top_svd(J, k)
    check_svd(J, svd, s)
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.rank == k
    assert svd.certificate.method == ("arpack" if (k + 1) * 5 <= WIDTH else "full")
    projector = svd.v @ svd.v.T
    assert torch.norm(projector - V[:, :k] @ V[:, :k].T) < 1e-3
    assert svd.next_value == pytest.approx(float(s[k]), rel=1e-4) if k < WIDTH else True


def test_a_steep_spectrum_is_certified_in_float32():
    svd = top_svd(planted(3.0 * 0.5 ** np.arange(WIDTH))[0], 12)
    assert svd.s[-1] < 2e-3 * svd.s[0]
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.certificate.method == "full"


@pytest.mark.parametrize(("spectrum", "dtype"), [(0.9, torch.float32), (0.5, torch.float64)])
def test_block_krylov_finds_the_planted_triplets(spectrum, dtype):
    wide, k = 400, 20
    J, U, s, V = planted(3.0 * np.maximum(spectrum ** np.arange(wide), 1e-3), dtype)
    found = krylov.top_triplets(J, k if spectrum == 0.9 else 8)
    assert found is not None
    certificate = certify(J, *found, "krylov")
    assert certificate.certified, certificate.reason
    count = len(found[1])
    assert found[1].numpy() == pytest.approx(s[:count].numpy(), rel=1e-4)
    assert torch.norm(found[2] @ found[2].T - V[:, :count] @ V[:, :count].T) < 1e-2
    assert torch.norm(found[0] @ found[0].T - U[:, :count] @ U[:, :count].T) < 1e-2


def test_block_krylov_of_a_lower_rank_has_orthonormal_vectors_or_says_where_it_does_not_arrive():
    J = planted(np.where(np.arange(400) < 5, 3.0, 0.0))[0]
    u, s, v = krylov.top_triplets(J, 8)
    assert s[:5].numpy() == pytest.approx(3.0, rel=1e-5)
    assert s[5:].abs().max() < 1e-4
    assert torch.norm(u.T @ u - torch.eye(8)) < 1e-4
    assert torch.norm(v.T @ v - torch.eye(8)) < 1e-4
    assert krylov.top_triplets(planted(3.0 - 1e-3 * np.arange(400))[0], 20) is None


@pytest.mark.parametrize("rank", [WIDTH, 20])
def test_where_the_full_svd_falls_short_the_gram_matrix_helps(rank, monkeypatch):
    """As on a GPU, whose vectors of a wide matrix are too far from orthonormal."""
    right = decomposition._full

    def short(jacobian, k):
        u, s, v = right(jacobian, k)
        return u + 1e-2 * torch.randn(u.shape, generator=torch.Generator().manual_seed(0)), s, v

    monkeypatch.setattr(decomposition, "_full", short)
    J, _, s, _ = planted(np.where(np.arange(WIDTH) < rank, GEOMETRIC, 0.0))
    found = top_svd(J, 40)
    if rank == WIDTH:
        check_svd(J, found, s)
    assert found.certificate.certified, found.certificate.reason
    assert (found.certificate.method, found.rank) == ("gram", min(rank, 40))


@pytest.mark.gpu
def test_a_gpu_takes_block_krylov_and_certifies_it_and_a_tenth_of_a_wide_matrix_without_gaps():
    J, _, s, _ = planted(3.0 * 0.99 ** np.arange(1024))
    svd = top_svd(J.cuda(), 50)
    assert svd.certificate.method == "krylov"
    assert svd.certificate.certified, svd.certificate.reason
    assert svd.s.cpu().numpy() == pytest.approx(s[:50].numpy(), rel=1e-4)
    generator = torch.Generator().manual_seed(0)
    found = top_svd(torch.randn(4096, 4096, generator=generator).cuda(), 409)
    assert found.certificate.certified, found.certificate.reason


def test_the_same_matrix_gives_the_same_bits_and_right_vectors_with_a_positive_largest_entry():
    J = planted(GEOMETRIC)[0]
    first, second = top_svd(J, K), top_svd(J.clone(), K)
    assert torch.equal(first.u, second.u)
    assert torch.equal(first.v, second.v)
    assert (first.v.gather(0, first.v.abs().argmax(0, keepdim=True)) > 0).all()


def test_a_matrix_of_lower_rank_is_cut_at_its_rank():
    rank = 4
    spectrum = np.where(np.arange(WIDTH) < rank, GEOMETRIC, 0)
    svd = top_svd(planted(spectrum)[0], K)
    assert svd.rank == rank
    assert not svd.s[rank:].any()
    assert not svd.u[:, rank:].any()
    assert not svd.v[:, rank:].any()
    assert svd.certificate.certified, svd.certificate.reason


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


def test_a_failed_arpack_falls_back_on_the_full_svd(monkeypatch):
    J, U, s, V = planted(GEOMETRIC)
    monkeypatch.setattr(decomposition, "_arpack", lambda J, k: (V[:, :k], s[:k], U[:, :k]))
    svd = top_svd(J, K)
    assert svd.certificate.method == "full"
    assert svd.certificate.certified
    check_svd(J, svd, s)
