"""Noise added to one token of the first state, in truth and to first order.

    x^0_t + e norm(x^0_t) w,    norm(w) = 1

In truth the blocks are run again on what is disturbed. To first order, a change of x^0_t is
multiplied by M^l = I + J^l_tt, block after block. Paths over other tokens are no part of that; a
model that reads from left to right has none, since what comes later does not reach back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.directions.ablation import random_frames
from coupling_core.engine.directions.readouts import random_units
from coupling_core.engine.directions.steering import steered
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.hardware import algebra_device

DRAWS = 32
FRAMES = 4
"""Random frames, which share the draws: as many draws lie in each."""
SEED = 0


@dataclass(frozen=True)
class Disturbed:
    """How far noise is from the model's own states, by sequence and state.

    Args:
        distance: norm of the change, in units of norm(x^l_t).
        cosine: of the disturbed state with the model's own.
        linear_distance: norm of the change to first order, in the same units.
        linear_cosine: of the state that it leads to, with the model's own.
        error: norm of the difference of both changes, in units of the true one.
    """

    distance: Float[Tensor, "sequence state"]
    cosine: Float[Tensor, "sequence state"]
    linear_distance: Float[Tensor, "sequence state"]
    linear_cosine: Float[Tensor, "sequence state"]
    error: Float[Tensor, "sequence state"]


def noise(leading: Float[Tensor, "d rank"], k: int) -> Float[Tensor, "way draw d"]:
    """Unit directions of the noise: any; along the leading v of block 1; along random frames.

    Args:
        leading: orthonormal columns, one at least.
        k: columns of the random frames.
    """
    generator = torch.Generator().manual_seed(SEED)
    d, rank = leading.shape
    anywhere = random_units(DRAWS, d, generator)
    frames = random_frames(FRAMES, d, k, generator).float().repeat_interleave(DRAWS // FRAMES, 0)
    along_random = (frames @ random_units(DRAWS, k, generator)[..., None])[..., 0]
    along = random_units(DRAWS, rank, generator) @ leading.cpu().float().T
    return torch.stack([anywhere, along, along_random])


def disturbed(
    replays: Replays,
    jacobians: Sequence[Tensor],
    token: int,
    units: Float[Tensor, "direction d"],
    sizes: Sequence[float],
    norm: nn.Module | None,
) -> Iterator[Disturbed]:
    """Follow noise through the blocks, the sizes of the first direction first; in parts.

    Args:
        replays: of the model's blocks.
        jacobians: J^l_tt, the last with the norm, where it belongs to the last block.
        token: t, 1..n.
        units: of length 1.
        sizes: e, in units of norm(x^0_t).
        norm: the final one, where it belongs to the last block.
    """
    which = torch.arange(len(units)).repeat_interleave(len(sizes))
    size = torch.tensor(sizes, dtype=torch.float64).repeat(len(units))
    for part in torch.arange(len(size)).split(max(1, replays.at_once - 1)):
        yield _followed(replays, jacobians, token, size[part, None] * units[which[part]], norm)


def rounding(replays: Replays, token: int, norm: nn.Module | None) -> Float[Tensor, " state"]:
    """How far the states of several sequences run together are from those of one, by rounding.

    In units of norm(x^l_t).
    """
    # Each its own memory: blocks that view their states in another shape bear no other.
    x = replays.states[:1].repeat(max(2, replays.at_once), 1, 1)
    found = [x.new_zeros(())]
    for block in range(1, replays.n_blocks + 1):
        x = replays.run(block, x)
        behind = norm if block == replays.n_blocks else None
        one, many = (_rows(y[None], token, behind)[0] for y in (replays.states[block], x[0]))
        found.append((many - one).norm() / one.norm())
    return torch.stack(found)


def _followed(
    replays: Replays,
    jacobians: Sequence[Tensor],
    token: int,
    shift: Float[Tensor, "sequence d"],
    norm: nn.Module | None,
) -> Disturbed:
    own = replays.states[:1]
    # The undisturbed sequence is run among the others, so that all are rounded alike.
    x = torch.cat([own, steered(replays, 0, [token], shift.to(own))])
    device = algebra_device(own.device)
    rows = _rows(x, token, None).to(device, torch.float64)
    linear = rows[1:] - rows[0]
    found = [_compared(rows, linear)]
    for block, jacobian in enumerate(jacobians, 1):
        x = replays.run(block, x)
        linear = linear + linear @ jacobian.to(device).double().T
        rows = _rows(x, token, norm if block == len(jacobians) else None)
        found.append(_compared(rows.to(device, torch.float64), linear))
    return Disturbed(*(torch.stack(each, 1).float() for each in zip(*found, strict=True)))


def _rows(
    x: Float[Tensor, "sequence token d"], token: int, norm: nn.Module | None
) -> Float[Tensor, "sequence d"]:
    """The states at the token, behind the final norm where that belongs to the block."""
    rows = x[:, token - 1 : token]
    if norm is not None:
        with torch.no_grad():
            rows = norm(rows)
    return rows[:, 0]


def _compared(
    rows: Float[Tensor, "all d"], linear: Float[Tensor, "disturbed d"]
) -> tuple[Tensor, ...]:
    """The undisturbed state first, then the disturbed ones, held against what first order says."""
    x, true = rows[0], rows[1:] - rows[0]
    length = true.norm(dim=1)
    return (
        length / x.norm(),
        torch.cosine_similarity(x + true, x[None], -1, 0.0),
        linear.norm(dim=1) / x.norm(),
        torch.cosine_similarity(x + linear, x[None], -1, 0.0),
        (true - linear).norm(dim=1) / length,
    )
