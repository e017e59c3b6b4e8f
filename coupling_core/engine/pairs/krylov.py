"""Top singular triplets by block Krylov iteration: large products only, as a GPU likes them.

From a random block Q_0, orthonormal blocks span the same space as its images under J^T J,

    span [Q_0 .. Q_m] = span [Q_0, (J^T J) Q_0, .., (J^T J)^m Q_0]

and the triplets of J restricted to that space approach those of J (Rayleigh-Ritz), the top ones
first and the faster the larger m is: a power of m instead of one of each block (Musco and Musco,
2015, algorithm 2). Where the K-th and the next value are close, as they are in transformers, six or
seven blocks of K vectors do.
"""

import torch
from jaxtyping import Float
from torch import Tensor

SPARE = 8
"""Vectors of a block beyond those wanted."""

FIRST_LOOK, MOST = 5, 12
"""Blocks after which the triplets are looked at for the first and the last time."""

RESIDUAL = 1e-5
"""Largest norm(J^T u - v s) to stop at, in units of s_1: a tenth of what a certificate allows."""


def top_triplets(J: Float[Tensor, "d d"], k: int) -> tuple[Tensor, Tensor, Tensor] | None:
    """The top K of J as u (d k), s (k), v (d k), orthonormal and largest first.

    Returns:
        None where the space grew to half of d, or to its last block, before they came.
    """
    d, width = len(J), k + SPARE
    blocks = min(MOST, d // (2 * width) - 1)
    if blocks < FIRST_LOOK:
        return None
    generator = torch.Generator().manual_seed(0)  # of the CPU, so that every device starts alike

    def noise() -> Tensor:
        return torch.randn(d, width, generator=generator, dtype=torch.float64).to(J)

    Q = _orthonormal(noise())
    basis, images = Q, J @ Q
    image = images
    for count in range(1, blocks + 1):
        # Where the rank is used up nothing new comes, and any direction is as good.
        Q = J.T @ image
        Q += 10 * torch.finfo(Q.dtype).eps * Q.norm() / d**0.5 * noise()
        for _ in range(2):  # once leaves what rounding puts back
            Q = _orthonormal(Q - basis @ (basis.T @ Q))
        image = J @ Q
        basis, images = torch.cat([basis, Q], 1), torch.cat([images, image], 1)
        if count >= FIRST_LOOK:
            u, s, v = _restricted(basis, images, k)
            if (J.T @ u - v * s).norm(dim=0).max() <= RESIDUAL * s[0]:
                return u, s, v
    return None


def _restricted(
    basis: Float[Tensor, "d m"], images: Float[Tensor, "d m"], k: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The top K triplets of J restricted to the space of a basis, from its images under J."""
    q, r = torch.linalg.qr(images)
    u, s, vh = torch.linalg.svd(r)
    return q @ u[:, :k], s[:k], basis @ vh[:k].T


def _orthonormal(vectors: Float[Tensor, "d m"]) -> Float[Tensor, "d m"]:
    return torch.linalg.qr(vectors)[0]
