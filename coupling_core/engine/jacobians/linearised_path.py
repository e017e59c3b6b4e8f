"""The linearised path of a token, x^l = (I + J^l_tt) x^{l-1}, and how far it is from the true one.

A product J v needs no J. With y = F(x) - x, one backward pass gives g(u) = (dy/dx)^T u as a
function of u, which is linear, and its own derivative backwards is what is wanted:

    dy/dx v = (dg/du)^T v
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coupling_core.engine.jacobians.captured_block import Block, random_directions
from coupling_core.engine.jacobians.decode import Capture
from coupling_core.engine.jacobians.derivative_check import check_product
from coupling_core.engine.jacobians.gradients import gradients_by
from coupling_core.engine.jacobians.same_token import check_replay, residual


@dataclass(frozen=True)
class LinearisedErrors:
    """Distances of linearised states from the true ones, in units of norm(x^l_t).

    Args:
        one_step: of (I + J^l) x^{l-1}.
        rolled_out: of xhat^l = (I + J^l) xhat^{l-1}, from xhat^0 = x^0.
    """

    one_step: Float[Tensor, " block"]
    rolled_out: Float[Tensor, " block"]


def linearised_errors(captures: list[Capture], final_norm: nn.Module | None) -> LinearisedErrors:
    """Walk through all blocks at one token in both ways."""
    rolled = captures[0].block.state
    one_step, rolled_out = [], []
    for index, capture in enumerate(captures, 1):
        block, norm = capture.block, final_norm if index == len(captures) else None
        directions = torch.stack([block.state, rolled, *random_directions(block.state, 1)])
        stepped, further, along_random = products(block, directions, norm)
        check_product(block, directions[-1], along_random, norm)
        x = block.output if norm is None else norm(block.output)
        rolled = rolled + further
        one_step.append((block.state + stepped - x).norm() / x.norm())
        rolled_out.append((rolled - x).norm() / x.norm())
    return LinearisedErrors(torch.stack(one_step), torch.stack(rolled_out))


def products(
    block: Block, directions: Float[Tensor, "m d"], final_norm: nn.Module | None = None
) -> Float[Tensor, "m d"]:
    """J^l_tt v of some directions v, without the skip connection (Eq. 8).

    The v are rows. Raises `InputError` where the block changes the width, or its replay is not what
    the model ran.
    """
    x = block.state.detach().clone()[None, None].requires_grad_()
    # The other kernels of attention have no second derivative.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        y = block.replay(x)
        check_replay(block, y)
        f = residual(y, x[0, 0], final_norm)
        u = torch.zeros_like(f, requires_grad=True)
        (pulled,) = torch.autograd.grad(f, x, u, create_graph=True)
        batch = directions.reshape(-1, *x.shape)
        pushed = gradients_by(pulled, u, batch)
    return pushed.flatten(1)
