"""Scores that bases drawn at random get with a Jacobian, one draw at a time.

A Haar-random basis looks at J = U S V^T as it does at S alone: with independent Haar frames P and Q
the matrix P^T S Q has the distribution of the one that J gives. Only the top singular values are
stored; the others count by their squared sum, which is stored too, and are taken as equal.
"""

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.scores import require_k, score
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult


def random_matrices(
    result: DepthResult, block: int, k: int, count: int, seed: int = 0
) -> Float[np.ndarray, "draw k k"]:
    """The block's Jacobian in random bases, in the unit of its singular values."""
    require_k(result, k)
    s, d = result.singular_values[block - 1].astype(np.float64), result.width
    rest = max(0.0, float(result.jacobian_norm[block - 1]) ** 2 - float(s @ s))
    values = np.full(d, np.sqrt(rest / max(1, d - len(s))))
    values[: len(s)] = s
    generator = np.random.default_rng(seed)

    def frame() -> Float[np.ndarray, "d k"]:
        q, r = np.linalg.qr(generator.standard_normal((d, k)))
        return q * np.sign(r.diagonal())

    draws = [(frame() * values[:, None]).T @ frame() for _ in range(count)]
    return np.array(draws).reshape(count, k, k)


def random_scores(
    result: DepthResult, block: int, view: View, count: int, seed: int = 0
) -> Float[np.ndarray, " draw"]:
    """Raw scores of the block's Jacobian in random bases."""
    s = result.singular_values[block - 1, : view.k].astype(np.float64)
    A = random_matrices(result, block, view.k, count, seed)
    diagonal = np.diagonal(A, axis1=1, axis2=2)
    # Only that of the whole K x K matrix is looked at: the last entry of the scores by K.
    off = np.repeat(((A**2).sum((1, 2)) - (diagonal**2).sum(1))[:, None], view.k, 1)
    return score(diagonal, off, s, view.definition, view.p)[:, -1]
