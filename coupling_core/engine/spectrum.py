"""The linear map of a block, M = I + J: its eigenvalues, and what products of such maps leave over.

All of it in float64. A matrix that is far from normal has eigenvalues that a small error moves far:
with left and right eigenvectors y and x of length 1, an error E moves an eigenvalue by up to

    norm(E) / |y^H x|

to first order. The factor, 1 for a normal matrix, is found for each. Of products only directions
matter, so each is scaled to norm 1 before the next map is applied, and its size is kept apart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

from coupling_core.base.errors import ComputeError

SHUFFLES = 8
"""Orders in which blocks are multiplied at random."""


@dataclass(frozen=True)
class Eigenvalues:
    """Those of one matrix, the largest in modulus first.

    Args:
        values: the eigenvalues.
        condition: 1 / |y^H x| of each; infinite of a defective one.
        residual: largest norm(M x - lambda x), x of length 1, in units of norm_F(M).
    """

    values: Complex[Tensor, " d"]
    condition: Float[Tensor, " d"]
    residual: float


class LinearMaps(Sequence[Tensor]):
    """M = I + J of some Jacobians, in float64 when it is asked for: all would take twice the room.

    Args:
        jacobians: J of each block (d d), in any precision.
    """

    def __init__(self, jacobians: Sequence[Tensor] | Tensor) -> None:
        self._jacobians = jacobians

    def __len__(self) -> int:
        return len(self._jacobians)

    def __getitem__(self, at: Any) -> Any:
        M = self._jacobians[at].to(torch.float64, copy=True)
        M.diagonal().add_(1)
        return M


def eigenvalues(M: Float[Tensor, "d d"]) -> Eigenvalues:
    """All eigenvalues of a real matrix, with how sure each is.

    Args:
        M: in float64.

    Raises:
        ComputeError: where the iteration does not converge, or M is not finite.
    """
    try:
        values, X = torch.linalg.eig(M)
    except RuntimeError as error:
        raise ComputeError(
            f"the eigenvalues of a {tuple(M.shape)} matrix were not found: {error}"
        ) from error
    order = values.abs().argsort(descending=True, stable=True)
    values, X = values[order], X[:, order]
    residual = float((M.to(X.dtype) @ X - X * values).norm(dim=0).max() / M.norm())
    inverse, failed = torch.linalg.inv_ex(X)  # its rows are y^H / (y^H x)
    condition = inverse.norm(dim=1) * X.norm(dim=0)
    if failed:
        condition = torch.full_like(condition, torch.inf)
    return Eigenvalues(values, condition.nan_to_num(nan=torch.inf), residual)


def departure(M: Float[Tensor, "d d"], values: Complex[Tensor, " d"]) -> float:
    """Henrici's departure from normality, in units of norm_F(M): 0 of a normal matrix, below 1.

    It is sqrt(norm_F(M)^2 - sum |lambda|^2) / norm_F(M).
    """
    whole = float(M.square().sum())
    return max(0.0, 1 - float(values.abs().square().sum()) / whole) ** 0.5


def asymmetry(J: Float[Tensor, "d d"]) -> float:
    """norm_F(J - J^T) / norm_F(J + J^T): 0 of a symmetric matrix, infinite of a skew one."""
    apart, together = float((J - J.T).norm()), float((J + J.T).norm())
    return apart / together if together else float("inf")


def participation(P: Float[Tensor, "d d"]) -> float:
    """(sum s^2)^2 / sum s^4 of a matrix' singular values: 1 of rank one, d of an orthogonal one."""
    gram = P.T @ P
    return float(gram.diagonal().sum() ** 2 / gram.square().sum())


def products(maps: Iterable[Tensor]) -> Iterator[Float[Tensor, "d d"]]:
    """M^1, M^2 M^1, .., each divided by its Frobenius norm.

    Args:
        maps: M^1 .. (d d) in float64, applied in this order.

    Raises:
        ComputeError: where a product is zero or not finite.
    """
    P: Tensor | None = None
    for number, M in enumerate(maps, 1):
        P = M if P is None else M @ P
        size = float(P.norm())
        if not (np.isfinite(size) and size):
            raise ComputeError(f"the product of {number} blocks is zero or not finite")
        P = P / size
        yield P


def range_participation(maps: Sequence[Tensor]) -> Float[np.ndarray, "first last"]:
    """The participation ratio of M^b ... M^a for all a <= b; NaN below the diagonal."""
    L = len(maps)
    found = np.full((L, L), np.nan)
    for first in range(L):
        for last, P in enumerate(products(maps[at] for at in range(first, L)), first):
            found[first, last] = participation(P)
    return found


def exponents(maps: Sequence[Tensor]) -> Float[np.ndarray, " d"]:
    """Lyapunov exponents over depth, by repeated QR: mean growth a block, in natural logarithms.

    Args:
        maps: M^1 .. M^L.

    Returns:
        the largest first; -inf of directions that are lost.
    """
    Q = torch.eye(len(maps[0]), dtype=torch.float64, device=maps[0].device)
    growth = torch.zeros(len(Q), dtype=torch.float64, device=Q.device)
    for M in maps:
        Q, R = torch.linalg.qr(M @ Q)
        growth += R.diagonal().abs().log()
    return (growth / len(maps)).sort(descending=True).values.cpu().numpy()


def shuffled_singular_values(maps: Sequence[Tensor], seed: int = 0) -> Float[np.ndarray, "order d"]:
    """Singular values of the product of all maps in random orders, as `products` scales them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(SHUFFLES):
        *_, P = products(maps[at] for at in rng.permutation(len(maps)))
        found.append(singular_values(P))
    return np.stack(found)


def singular_values(P: Float[Tensor, "d d"]) -> Float[np.ndarray, " d"]:
    """All of them, the largest first."""
    return torch.linalg.svdvals(P).cpu().numpy()
