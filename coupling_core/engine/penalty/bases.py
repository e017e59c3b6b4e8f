"""The leading singular directions of a block's Jacobian, followed from step to step."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core.engine.penalty.linear import Directions, Linear

FIRST = 12
"""Power steps where nothing is known yet."""
MORE = 4
"""Directions that are followed beside the leading ones: near-ties at K would slow these down."""


@dataclass(frozen=True)
class Bases:
    """The triplets of every sequence, largest first, in float32 or better.

    Args:
        u: left singular vectors.
        s: singular values.
        v: right singular vectors.
    """

    u: Directions
    s: Float[Tensor, "sequence k"]
    v: Directions


def leading(
    block: Linear, k: int, known: Bases | None, steps: int, generator: torch.Generator
) -> Bases:
    """Its leading triplets, by block power steps from those that are known.

    Args:
        block: of all sequences.
        k: how many; `MORE` beside them, or as many as there are, come with them.
        known: of an earlier step; None, or of another shape, begins anew.
        steps: power steps from known ones; a new beginning takes `FIRST`.
        generator: what a new beginning is drawn from.
    """
    sequences, width = block.shape
    shape = sequences, width, min(k + MORE, width)
    if known is None or known.v.shape != shape:
        known, steps = None, FIRST
    # All sequences begin alike, so that processes which share a batch find the same.
    v = known.v if known else torch.randn(shape[1:], generator=generator).expand(shape)
    v = torch.linalg.qr(v.to(block.device))[0]
    for _ in range(steps):
        u = torch.linalg.qr(block.forward(v))[0]
        v = torch.linalg.qr(block.backward(u))[0]
    u = torch.linalg.qr(block.forward(v))[0]
    v, s, turn = torch.linalg.svd(block.backward(u), full_matrices=False)
    return Bases(u @ turn.mT, s, v)
