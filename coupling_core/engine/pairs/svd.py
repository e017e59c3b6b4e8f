"""Top-K singular value decomposition with a certificate that it is the right one.

A truncated SVD can be wrong in ways that its residuals do not show: a triplet may be left out. The
certificate, in float64, closes that. Let R be what is left of J outside the range of U:

    R = (I - U U^T) J

J - R has rank K, so that s_{K+1} <= norm(R) whatever U is (Eckart-Young), and the K found are the
top ones if norm(R) <= s_K (1 + delta). By Sylvester's law of inertia that is so exactly when
s_K^2 (1 + delta)^2 I - R^T R has a Cholesky factorisation. With H = U^T J and U orthonormal,

    R^T R = J^T J - H^T H

which keeps the rounding of float32 vectors in second order: subtracting V S^2 V^T from J^T J
instead would drown an s_K below 2 % of s_1. J^T J is what the solvers work on too: they find the
space of the right vectors, and the triplets in it come from J itself, in float64.
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
from coupling_core.engine.pairs.chebyshev import top_space

ORTHONORMALITY = 1e-5
"""Largest norm_F(U^T U - I) and norm_F(V^T V - I) of a certified SVD in float32."""

RESIDUAL = 1e-4
"""Largest norm(J v - u s) and norm(J^T u - v s), in units of s_1."""

DELTA = 1e-4
"""Relative gap below which a missed singular value would be invisible, and harmless."""

DENSE_FRACTION = 5
"""On a CPU ARPACK pays while K <= d / 5; past that all eigenvectors of J^T J are as fast."""

DENSE_FRACTION_ON_A_GPU = 2
"""There products are so much faster than an eigensolver that filters pay for half of d."""

TOLD_BY_SQUARES = 1e-7
"""What is less than this of s_1 is rounding in the eigenvalues of J^T J, in float64."""

MARGIN = 20
"""Least size of ARPACK's basis above K; above K = 50 it is two fifths of K. SciPy's own choice, all
of K, spends a quarter more on keeping it orthogonal than the restarts that it saves."""


_Triplets = tuple[Float[Tensor, "d m"], Float[Tensor, " m"], Float[Tensor, "d m"]]
"""u, s, v in float64."""


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
    """Top K triplets of a square matrix, certified; from all of them where nothing faster does.

    Args:
        jacobian: J, on any device.
        k: how many, 1..d.

    Raises:
        ComputeError: where J is not finite.
    """
    d, is_here = len(jacobian), jacobian.device.type == "cpu"
    wanted = min(k + 1, d)  # one more shows the gap at K
    problem = _Problem(jacobian.detach())
    if not torch.isfinite(problem.gram.diagonal()).all():
        raise ComputeError(
            f"the SVD of a {tuple(jacobian.shape)} Jacobian failed: it is not finite"
        )
    if wanted * (DENSE_FRACTION if is_here else DENSE_FRACTION_ON_A_GPU) <= d:
        method, space = ("arpack", _arpack) if is_here else ("chebyshev", _chebyshev)
        rows = space(problem, wanted)
        if rows is not None:
            found = _finish(problem, *_in_space(problem, rows), k, method)
            if found.certificate.certified:
                return found
    return _finish(problem, *_of_all(problem, wanted), k, "gram")


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


def _gram(exact: Float[Tensor, "m d"]) -> Float[Tensor, "d d"]:
    """X^T X; NumPy sees that it is symmetric, and computes half of it."""
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
    return _certify(_Problem(jacobian.detach()), u, s, v, float(s[-1]), method)


def _certify(
    problem: _Problem, u: Tensor, s: Tensor, v: Tensor, least: float, method: str
) -> Certificate:
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
    # One Newton step makes up for what float32 left short of orthonormal, to 1e-10.
    elif not _is_complete(problem.gram - _gram((1.5 * eye - 0.5 * overlap) @ H), least):
        reason = f"a singular value above {least:.3g} was missed"
    return Certificate(not reason, method, orthonormality, residual, reason)


def _is_complete(rest: Float[Tensor, "d d"], least: float) -> bool:
    """The inertia test on R^T R: no singular value of what remains exceeds s_K (1 + delta)."""
    shifted = -rest
    shifted.diagonal().add_((least * (1 + DELTA)) ** 2)
    if shifted.device.type != "cpu":
        return int(torch.linalg.cholesky_ex(shifted).info) == 0
    # The bare factorisation: torch's own spends half as much again on clearing a triangle.
    with one_blas_thread():
        return scipy.linalg.lapack.dpotrf(shifted.numpy().T, lower=1, clean=0)[1] == 0


def _chebyshev(problem: _Problem, k: int) -> Float[Tensor, "m d"] | None:
    try:
        return top_space(problem.gram, k, problem.J.dtype)
    except torch.linalg.LinAlgError:
        return None


def _arpack(problem: _Problem, k: int) -> Float[Tensor, "k d"] | None:
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
    return torch.from_numpy(found.T)


def _of_all(problem: _Problem, k: int) -> _Triplets:
    """From the eigenvectors of J^T J."""
    V = torch.linalg.eigh(problem.gram).eigenvectors[:, -k:].flip(1)
    return _normalised(problem.exact @ V, V)


def _in_space(problem: _Problem, rows: Float[Tensor, "m d"]) -> _Triplets:
    """Triplets of J in the space of nearly orthonormal rows (Rayleigh-Ritz)."""
    V = rows.T.to(torch.float64)
    V = 1.5 * V - 0.5 * V @ (V.T @ V)  # one Newton step: float32 falls short by 1e-5
    H = problem.exact @ V
    Q = torch.linalg.eigh((H.T @ H).cpu()).eigenvectors.flip(1).to(H.device)
    return _normalised(H @ Q, V @ Q)


def _normalised(JV: Float[Tensor, "d m"], V: Float[Tensor, "d m"]) -> _Triplets:
    """Left vectors and singular values from what J makes of the right vectors, largest first."""
    s, order = JV.norm(dim=0).sort(descending=True)
    return JV[:, order] / s.clamp_min(torch.finfo(s.dtype).tiny), s, V[:, order]


def _finish(problem: _Problem, u: Tensor, s: Tensor, v: Tensor, k: int, method: str) -> SVD:
    """Cut at the rank, certify, fix the gauge, and set the extra singular value apart."""
    d = len(problem.J)
    wanted = min(k + 1, d)
    u, s, v = (x[..., :wanted].to(problem.J.dtype) for x in (u, s, v))
    noise = max(d * torch.finfo(s.dtype).eps, TOLD_BY_SQUARES) * float(s[0])
    rank = int((s > noise).sum())
    # Where there are fewer than wanted, none above rounding is left.
    least = float(s[-1]) if rank == wanted else noise
    certificate = _certify(problem, u[:, :rank], s[:rank], v[:, :rank], least, method)
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


def _gauge(v: Float[Tensor, "d k"]) -> Float[Tensor, " k"]:
    """Signs that make the largest entry of each right singular vector positive."""
    largest = v.gather(0, v.abs().argmax(0, keepdim=True))[0]
    return torch.where(largest < 0, -1.0, 1.0).to(v.dtype)
