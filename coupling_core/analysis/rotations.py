"""What is left of a matrix on average where its rows and columns are turned by random rotations."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

_LOGS = np.linspace(-40.0, 60.0, 401)
"""Logarithms of where an integral is summed up, in units of the largest singular value."""


def entry_by_rotation(
    matrices: Float[np.ndarray, "*pair side side"], every_k: Sequence[int]
) -> Float[np.ndarray, "*pair k"]:
    """E |q^T A r| for the leading K x K corner A of each matrix, with q and r random unit vectors.

    Of r given, q^T A r is a projection of a vector of length norm(A r). That length is norm(A g) of
    a standard normal g over norm(g), of which it is independent.

    Returns:
        an array (*pair k) in units of A; NaN where K is beyond the matrix.
    """
    found = np.full((*matrices.shape[:-2], len(every_k)), np.nan)
    for at, k in enumerate(every_k):
        if k <= matrices.shape[-1]:
            ratio = math.exp(math.lgamma(k / 2) - math.lgamma((k + 1) / 2))
            projection, length = ratio / np.sqrt(np.pi), np.sqrt(2) / ratio
            found[..., at] = _normal_length(matrices[..., :k, :k]) * projection / length
    return found


def _normal_length(matrices: Float[np.ndarray, "*pair k k"]) -> Float[np.ndarray, " *pair"]:
    """E norm(A g) of a standard normal g.

    E sqrt(Q) is 1 / (2 sqrt(pi)) times the integral of t^(-3/2) (1 - E exp(-t Q)) over t > 0, where
    of Q = norm(A g)^2 the mean of exp(-t Q) is the product of (1 + 2 a^2 t)^(-1/2) over the
    singular values a of A.
    """
    known = np.isfinite(matrices).all((-2, -1))
    values = np.linalg.svd(np.where(known[..., None, None], matrices, 0), compute_uv=False)
    largest = values[..., :1]
    squares = (values / np.where(largest > 0, largest, 1)) ** 2
    logs = sum(np.log1p(2 * np.exp(_LOGS) * squares[..., [k]]) for k in range(values.shape[-1]))
    integrand = -np.expm1(-0.5 * logs) * np.exp(-0.5 * _LOGS)
    found = largest[..., 0] * integrand.sum(-1) * (_LOGS[1] - _LOGS[0]) / (2 * np.sqrt(np.pi))
    return np.where(known, found, np.nan)
