"""Top-K singular value decomposition with a certificate that it is the right one.

A truncated SVD can be wrong in ways that its residuals do not show: a triplet may be left out. The
certificate, in float64, closes that. Let R be what is left of J outside the range of U:

    R = (I - U U^T) J

J - R has rank K, so that s_{K+1} <= norm(R) whatever U is (Eckart-Young), and the K found are the
top ones if norm(R) <= s_K (1 + delta). By Sylvester's law of inertia that is so exactly when
s_K^2 (1 + delta)^2 I - R^T R has a Cholesky factorisation. With H = U^T J and U orthonormal,

    R^T R = J^T J - H^T H

which keeps the rounding of float32 vectors in second order: subtracting V S^2 V^T from J^T J
instead would drown an s_K below 2 % of s_1. J^T J is what ARPACK works on too.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg.lapack
import scipy.sparse.linalg
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Certificate
from coupling_core.engine.hardware import one_blas_thread
from coupling_core.engine.matrix_products import product
from coupling_core.engine.pairs import krylov

ORTHONORMALITY = 1e-5
"""Largest norm_F(U^T U - I) and norm_F(V^T V - I) of a certified SVD in float32."""

RESIDUAL = 1e-4
"""Largest norm(J v - u s) and norm(J^T u - v s), in units of s_1."""

DELTA = 1e-4
"""Relative gap below which a missed singular value would be invisible, and harmless."""

DENSE_FRACTION = 5
"""ARPACK pays while K <= d / 5; past that the full SVD is as fast. It beats block Krylov on a
CPU at every width up to 4096."""

MARGIN = 20
"""Least size of ARPACK's basis above K; above K = 50 it is two fifths of K. SciPy's own choice, all
of K, spends a quarter more on keeping it orthogonal than the restarts that it saves."""


@dataclass(frozen=True)
class SVD:
    """The top K triplets: J is near U diag(s) V^T.

    Args:
        u: left singular vectors, in columns.
        s: singular values, largest first; 0 past the rank.
        v: right singular vectors, in columns; the largest entry of each is positive.
        next_value: s_{K+1}, NaN where K = d.
        rank: how many of the K triplets exist.
        certificate: how far this was checked.
    """

    u: Float[Tensor, "d k"]
    s: Float[Tensor, " k"]
    v: Float[Tensor, "d k"]
    next_value: float
    rank: int
    certificate: Certificate


def top_svd(jacobian: Float[Tensor, "d d"], k: int) -> SVD:
    """Top K triplets of a square matrix, certified; by the full SVD where nothing faster does.

    Args:
        jacobian: J, on any device.
        k: how many, 1..d.

    Raises:
        ComputeError: where J is not finite, or no method converges.
    """
    d = jacobian.shape[0]
    wanted = min(k + 1, d)  # one more shows the gap at K
    problem = _Problem(jacobian.detach())
    method = "arpack" if jacobian.device.type == "cpu" else "krylov"
    triplets = None
    if method == "krylov":
        triplets = krylov.top_triplets(problem.J, wanted)
    elif wanted * DENSE_FRACTION <= d:
        triplets = _arpack(problem, wanted)
    if triplets is not None:
        found = _finish(problem, *triplets, k, method)
        if found.certificate.certified:
            return found
    found = _finish(problem, *_full(jacobian, wanted), k, "full")
    if found.certificate.certified:
        return found
    # On a GPU the vectors of a full SVD in float32 fall short at widths of thousands.
    return _finish(problem, *_by_gram(problem, wanted), k, "gram")


class _Problem:
    """A matrix, with what finding its triplets and checking them share.

    Args:
        J: the matrix.
    """

    def __init__(self, J: Float[Tensor, "d d"]) -> None:
        self.J = J
        self.exact: Float[Tensor, "d d"] = J.to(torch.float64)
        # At once: a `cached_property` of Python 3.11 is computed in one thread at a time.
        self.gram = _gram(self.exact)


def _gram(exact: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """J^T J; NumPy sees that it is symmetric, and computes half of it."""
    if exact.device.type != "cpu":
        return exact.T @ exact
    array = exact.numpy()
    with one_blas_thread():
        return torch.from_numpy(array.T @ array)


def certify(
    jacobian: Float[Tensor, "d d"],
    u: Float[Tensor, "d k"],
    s: Float[Tensor, " k"],
    v: Float[Tensor, "d k"],
    method: str,
) -> Certificate:
    """Check in float64 that u, s, v are the top K triplets of J, and that none was missed."""
    return _certify(_Problem(jacobian.detach()), u, s, v, method)


def _certify(problem: _Problem, u: Tensor, s: Tensor, v: Tensor, method: str) -> Certificate:
    J = problem.exact
    U, S, V = (x.to(torch.float64) for x in (u, s, v))
    eye = torch.eye(U.shape[1], dtype=torch.float64, device=J.device)
    overlap = U.T @ U
    orthonormality = float(max(torch.norm(overlap - eye), torch.norm(V.T @ V - eye)))
    H = U.T @ J
    right, left = J @ V - U * S, H.T - V * S
    residual = float(torch.cat([right, left], 1).norm(dim=0).max() / S[0])
    reason = ""
    if not orthonormality <= ORTHONORMALITY:
        reason = f"the singular vectors are not orthonormal: {orthonormality:.1e}"
    elif not residual <= RESIDUAL:
        reason = f"a residual is {residual:.1e} of s_1, above {RESIDUAL:.0e}"
    # 2 - U^T U is (U^T U)^-1 to second order of what float32 left short of orthonormal: 1e-10.
    elif not _is_complete(problem.gram - H.T @ ((2 * eye - overlap) @ H), S[-1]):
        reason = f"a singular value above s_K = {float(S[-1]):.3g} was missed"
    return Certificate(not reason, method, orthonormality, residual, reason)


def _is_complete(rest: Float[Tensor, "d d"], least: Tensor) -> bool:
    """The inertia test on R^T R: no singular value of what remains exceeds s_K (1 + delta)."""
    shifted = -rest
    shifted.diagonal().add_((least * (1 + DELTA)) ** 2)
    if shifted.device.type != "cpu":
        return int(torch.linalg.cholesky_ex(shifted).info) == 0
    # The bare factorisation: torch's own spends half as much again on clearing a triangle.
    with one_blas_thread():
        return scipy.linalg.lapack.dpotrf(shifted.numpy().T, lower=1, clean=0)[1] == 0


def _arpack(problem: _Problem, k: int) -> tuple[Tensor, Tensor, Tensor] | None:
    """Right singular vectors from J^T J, and the rest from J times them (Rayleigh-Ritz)."""
    d = len(problem.J)
    gram = problem.gram.to(problem.J.dtype).numpy()
    # A fixed start makes the result repeatable to the bit on one machine.
    start = np.random.default_rng(0).standard_normal(d).astype(gram.dtype)
    size = min(d, k + max(MARGIN, k * 2 // 5))
    try:
        with one_blas_thread():
            _, found = scipy.sparse.linalg.eigsh(gram, k, v0=start, ncv=size)
    except scipy.sparse.linalg.ArpackError:
        return None
    return _restricted(problem.J, torch.from_numpy(found))


def _by_gram(problem: _Problem, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same from all eigenvectors of J^T J in float64; s below 1e-8 s_1 is rounding."""
    v = torch.linalg.eigh(problem.gram).eigenvectors[:, -k:].flip(1)
    return _restricted(problem.J, v.to(problem.J.dtype))


def _restricted(J: Tensor, v: Float[Tensor, "d k"]) -> tuple[Tensor, Tensor, Tensor]:
    """Triplets of J in the space of orthonormal v, which lies near that of the right ones."""
    q, r = torch.linalg.qr(product(J, v))
    u, s, vh = torch.linalg.svd(r)
    return q @ u, s, v @ vh.T


def _full(jacobian: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    try:
        u, s, vh = torch.linalg.svd(jacobian)
    except torch.linalg.LinAlgError as error:
        raise ComputeError(f"the SVD of a {tuple(jacobian.shape)} Jacobian failed") from error
    return u[:, :k], s[:k], vh[:k].T


def _finish(problem: _Problem, u: Tensor, s: Tensor, v: Tensor, k: int, method: str) -> SVD:
    """Cut at the rank, certify, fix the gauge, and set the extra singular value apart."""
    u, v = _orthonormal(u), _orthonormal(v)
    d = len(problem.J)
    noise = d * torch.finfo(s.dtype).eps * float(s[0])
    rank = int((s > noise).sum())
    certificate = _certify(problem, u[:, :rank], s[:rank], v[:, :rank], method)
    exists = torch.arange(len(s), device=s.device) < rank
    u, s, v = u * exists, s * exists, v * exists
    sign = _gauge(v)
    next_value = float(s[k]) if len(s) > k else float("nan")
    return SVD(
        (u * sign)[:, :k].contiguous(),
        s[:k],
        (v * sign)[:, :k].contiguous(),
        next_value,
        min(rank, k),
        certificate,
    )


def _orthonormal(basis: Float[Tensor, "d k"]) -> Float[Tensor, "d k"]:
    """One Newton step towards the polar factor: LAPACK's float32 falls short by 1e-5 at K = 100."""
    return 1.5 * basis - 0.5 * basis @ (basis.T @ basis)


def _gauge(v: Float[Tensor, "d k"]) -> Float[Tensor, " k"]:
    """Signs that make the largest entry of each right singular vector positive."""
    largest = v.gather(0, v.abs().argmax(0, keepdim=True))[0]
    return torch.where(largest < 0, -1.0, 1.0).to(v.dtype)
