"""The space of the top right singular vectors by products alone, as a GPU likes them.

Subspace iteration on G = J^T J, filtered by Chebyshev polynomials (Zhou and Saad, 2007): of all
polynomials that stay within 1 on the interval of what is not wanted, T_m grows fastest above it.
What has converged is locked, and taken out of G in float64, for two reasons: rounding would bring
it back, amplified without bound, and beside it the float32 of G would drown what is small. The
degree of each filter is bounded by how far it may set the largest value above the cut, since
float32 loses the others otherwise.

Rows are the vectors: G is symmetric, so that `X G` needs nothing transposed.
"""

import math

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.matrix_products import product

SPARE = 8
"""Vectors beyond those wanted: a sixth of them, and so many at least."""

REACH = 1e5
"""How far a filter may set the largest eigenvalue above the cut."""

DEGREES = (2, 256)
"""Least and largest degree of a filter; the cut is moved to where one of them reaches so far."""

MOST = 20
"""Filters until it is given up: four or five do, flat spectra and steep ones included."""

PASSES = 12
"""Until rows count as dependent: five make up for what rounding leaves of a matrix of low rank."""

LANCZOS_STEPS = 10
MARGIN = 0.1
"""How far below the lowest value that these steps find there may be others, as a part of the range
that they find."""


def top_space(
    gram: Float[Tensor, "d d"], k: int, dtype: torch.dtype
) -> Float[Tensor, "m d"] | None:
    """Nearly orthonormal rows whose space has the eigenvectors of the top k eigenvalues in it.

    Args:
        gram: G in float64; it is left as it is.
        k: how many, 1..d. Of those that rounding hides, s_i <= d eps s_1, none needs to be in it.
        dtype: of the products.

    Returns:
        k rows or a few more; None where it does not converge.
    """
    d, eps = len(gram), torch.finfo(dtype).eps
    exact = gram / gram.diagonal().max()  # squares of small values would be lost in float32
    G = exact.to(dtype)
    lowest, largest = _ends(G)
    locked = G[:0]
    X = _orthonormal(product(_noise(min(d, k + max(SPARE, k // 6)), G, seed=0), G), locked)
    values, X, images = _ritz(X, G, locked)
    top = max(largest, float(values[0]))  # of the whole G: the unit of all residuals is s_1
    for _ in range(MOST):
        s = values.clamp_min(torch.finfo(dtype).tiny).sqrt()
        off = (images - X * values.to(X)[:, None]).norm(dim=1).cpu().double() / (s * top**0.5)
        wanted = k - len(locked)
        # Rounding of a product leaves about a third of this.
        count = int((off[:wanted] <= eps * d**0.5).cumprod(0).sum())
        if count == wanted or float(values[count]) <= (d * eps) ** 2 * top:
            return torch.cat([locked, X])
        if count:
            new, above = X[:count], values[:count].to(gram)[:, None] - lowest
            locked = torch.cat([locked, new])
            # To the end of the interval: no filter lets them grow again.
            exact.addmm_((new.to(gram) * above).T, new.to(gram), alpha=-1)
            G = exact.to(dtype)
            values, X, images = values[count:], X[count:], images[count:]
            largest = float(values[0])
        X = _filtered(X, images, G, lowest, float(values[-1]), largest)
        values, X, images = _ritz(_orthonormal(X, locked), G, locked)
    return None


def _filtered(
    X: Float[Tensor, "m d"],
    images: Float[Tensor, "m d"],
    G: Float[Tensor, "d d"],
    lowest: float,
    cut: float,
    largest: float,
) -> Float[Tensor, "m d"]:
    """T_m of G, with the interval from the lowest to about the cut as [-1, 1], times each row of X.

    Scaled so that it is 1 at the largest (Zhou and Saad), which keeps all numbers small.
    """
    whole = (largest - lowest) * (1 + 1e-4)
    steepest, gentlest = (math.cosh(math.acosh(REACH) / degree) for degree in DEGREES)
    at_largest = min(max(2 * whole / max(cut - lowest, 1e-9 * whole) - 1, gentlest), steepest)
    degree = round(math.acosh(REACH) / math.acosh(at_largest))
    half = whole / (at_largest + 1)
    centre = lowest + half
    shifted = G.clone()
    shifted.diagonal().sub_(centre)
    first = scale = 1 / at_largest
    before, now = X, (images - centre * X) * (scale / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - scale)
        after = product(now, shifted).mul_(2 * following / half)
        after.sub_(before, alpha=scale * following)
        before, now, scale = now, after, following
    return now / now.norm(dim=1, keepdim=True)


def _ritz(
    X: Float[Tensor, "m d"], G: Float[Tensor, "d d"], locked: Float[Tensor, "n d"]
) -> tuple[Float[Tensor, " m"], Float[Tensor, "m d"], Float[Tensor, "m d"]]:
    """Ritz values of G, largest first and in float64 on the host; their vectors; G times them."""
    images = _without(product(X, G), locked)
    small = product(images, X.T).double().cpu()
    values, Q = torch.linalg.eigh((small + small.T) / 2)
    turn = Q.flip(1).T.to(X)
    return values.flip(0), product(turn, X), product(turn, images)


def _without(X: Float[Tensor, "m d"], locked: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    return X - product(product(X, locked.T), locked) if len(locked) else X


def _orthonormal(X: Float[Tensor, "m d"], locked: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    """Cholesky QR, twice; shifted before where the rows are too close to dependent.

    What is locked is taken out each time: rows that are all but dependent have its rounding grow.
    """
    shift = 20 * torch.finfo(X.dtype).eps
    good = 0
    for _ in range(PASSES):
        X = _without(X, locked)
        small = product(X, X.T).double().cpu()
        L, failed = torch.linalg.cholesky_ex(small)
        if failed:
            small.diagonal().add_(shift * float(small.trace()))
            L = torch.linalg.cholesky(small)
        good = 0 if failed else good + 1
        eye = torch.eye(len(L), dtype=L.dtype)
        X = product(torch.linalg.solve_triangular(L, eye, upper=False).to(X), X)
        if good == 2:
            return X
    raise torch.linalg.LinAlgError("the rows are dependent")


def _ends(G: Float[Tensor, "d d"]) -> tuple[float, float]:
    """What bounds the eigenvalues from below, as good as surely, and from above, by Lanczos."""
    q = _noise(1, G, seed=1)[0]
    q, before, beta = q / q.norm(), torch.zeros_like(q), q.new_zeros(())
    diagonal, beside = [], []
    for _ in range(LANCZOS_STEPS):
        r = torch.mv(G, q) - beta * before
        alpha = torch.dot(r, q)
        r = r - alpha * q
        beta = r.norm()
        before, q = q, r / beta.clamp_min(torch.finfo(G.dtype).tiny)
        diagonal.append(alpha)
        beside.append(beta)
    alphas, betas = (torch.stack(x).double().cpu().numpy() for x in (diagonal, beside))
    values, vectors = scipy.linalg.eigh_tridiagonal(alphas, betas[:-1])
    off = np.abs(betas[-1] * vectors[-1])
    lowest = values[0] - MARGIN * max(values[-1] - values[0], MARGIN * values[0])
    return max(0.0, float(lowest)), float(values[-1] + off[-1])


def _noise(count: int, G: Float[Tensor, "d d"], seed: int) -> Float[Tensor, "count d"]:
    generator = torch.Generator().manual_seed(seed)  # of the CPU, so that every device starts alike
    return torch.randn(count, len(G), generator=generator, dtype=torch.float64).to(G)
