"""A captured block as a function of one token's state."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.one_row import Rows


@dataclass(frozen=True)
class Block:
    """One captured block as a function of the measured token.

    Args:
        number: 1..L.
        state: x^{l-1}_t, the token's state before the block.
        output: F^l(X^{l-1})_t as the model itself computed it.
        module: the block itself.
        replay: maps a state (1 1 d) to the block's output at the token (d).
        doubled: the same with all that it was called with in float64; None where it is not known.
        fast: whether its branches may be differentiated in forward mode.
    """

    number: int
    state: Float[Tensor, " d"]
    output: Float[Tensor, " d_out"]
    module: nn.Module
    replay: Callable[[Float[Tensor, "1 1 d"]], Float[Tensor, " d_out"]]
    doubled: "Callable[[], Block] | None" = None
    fast: bool = True


def at_one_token(number: int, call: Call) -> Block:
    """A block from its call with the measured token alone, over a cache of the tokens before."""
    return Block(
        number,
        call.hidden[0, 0],
        call.output[0, 0],
        call.module,
        lambda x: call.replay(x)[0, 0],
        lambda: at_one_token(number, call.double()),
    )


def at_one_row(number: int, rows: Rows, token: int, *, fast: bool = True) -> Block:
    """A block from its call with the whole sequence, of which the token (1..n) is one row."""
    row, call = token - 1, rows.call
    return Block(
        number,
        call.hidden[0, row],
        call.output[0, row],
        call.module,
        lambda x: rows.replay(x, row),
        lambda: at_one_row(number, Rows(call.double(), "in float64"), token, fast=False),
        fast,
    )


def distance(found: Tensor, expected: Tensor) -> float:
    """How far two tensors are apart, relative to the norm of the second; inf where not finite."""
    apart = float((found - expected).norm() / expected.norm().clamp_min(torch.finfo().tiny))
    return apart if apart == apart else float("inf")


def random_directions(like: Float[Tensor, "*m d"], count: int) -> Float[Tensor, "count d"]:
    """Random directions, the same each time."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(count, like.shape[-1], generator=generator, dtype=torch.float64)
    return drawn.to(like)
