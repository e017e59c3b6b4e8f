"""Coupling matrices, and the two numbers a K that tell every score of them.

    A = U'^T J V'      B = V'^T J U'      (K x K; U' and V' are another Jacobian's)

The diagonal entries, and the squared norm of what is off the diagonal of the leading K x K corner,
are both nested, so that one pass gives all K <= Kmax.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.analysis.scores import score
from coupling_core.base.definitions import DefinitionName
from coupling_core.engine.matrix_products import product

SQUARES = 2**22
"""Entries of matrices that are squared in float64 at a time: each takes 24 bytes on the way."""


def row(
    jacobian: Float[Tensor, "d d"], bases: Float[Tensor, "side column k d"]
) -> Float[Tensor, "role column k k"]:
    """A and B of one Jacobian with every basis; the sides of the bases are V and U."""
    v, u = bases
    return torch.stack([coupling_matrices(jacobian, u, v), coupling_matrices(jacobian, v, u)])


def coupling_matrices(
    jacobian: Float[Tensor, "d d"],
    left: Float[Tensor, "column k d"],
    right: Float[Tensor, "column k d"],
) -> Float[Tensor, "column k k"]:
    """`left J right^T` of every column, with bases in rows: one large product, then small ones."""
    columns, k, d = right.shape
    moved = product(right.reshape(-1, d), jacobian.T).reshape(columns, k, d)
    return left @ moved.mT


def nested(
    products: Float[Tensor, "*pair k k"],
) -> tuple[Float[np.ndarray, "*pair k"], Float[np.ndarray, "*pair k"]]:
    """Diagonal, and squared off-diagonal norm of each leading K x K corner, for K = 1..Kmax."""
    *pair, k, _ = products.shape
    parts = products.reshape(-1, k, k).split(max(1, SQUARES // k**2))
    off = torch.cat([_off_diagonal(part) for part in parts]).reshape(*pair, k)
    return products.diagonal(dim1=-2, dim2=-1).cpu().numpy(), off.cpu().numpy()


def _off_diagonal(products: Float[Tensor, "pair k k"]) -> Float[Tensor, "pair k"]:
    squares = products.double().square()
    fresh = squares.tril(-1).sum(-1) + squares.triu(1).sum(-2)  # what row and column K add
    return fresh.cumsum(-1)


@lru_cache(maxsize=1)  # a second measurement of a model has the same
def random_frames(
    width: int, k: int, count: int, device: torch.device
) -> Float[Tensor, "side frame k d"]:
    """Independent Haar-random K-frames in place of V and of U, in rows, from a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    gaussian = torch.randn(2 * count, width, k, generator=generator)
    q, r = torch.linalg.qr(gaussian)
    # The sign of R's diagonal makes the factor unique, and with it the distribution uniform.
    frames = q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None]
    return frames.mT.reshape(2, count, k, width).flip(0).contiguous().to(device)


def sample_chance(
    jacobian: Float[Tensor, "d d"],
    s: Float[np.ndarray, " k"],
    frames: Float[Tensor, "side frame k d"],
    definitions: Sequence[DefinitionName],
) -> tuple[Float[np.ndarray, "sampled k"], Float[np.ndarray, "sampled k"]]:
    """Scores of a Jacobian with random frames: mean and its standard error.

    Args:
        jacobian: J.
        s: its top singular values.
        frames: of `random_frames`.
        definitions: of which scores.

    Returns:
        both for each definition.
    """
    right, left = frames
    numerators = nested(coupling_matrices(jacobian, left, right))
    sampled = np.stack([score(*numerators, s[None], of) for of in definitions])
    return sampled.mean(1), sampled.std(1, ddof=1) / np.sqrt(sampled.shape[1])
