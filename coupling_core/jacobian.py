"""A captured block's Jacobian at one token."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.errors import ComputeError, InputError
from coupling_core.trace import Block

CHUNK = 512
"""Rows taken in one batched backward pass: enough to fill the GEMMs, few enough to fit."""

REPLAY_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}
"""How far a replay may be from the model's own output, relative to its norm."""


def block_jacobian(block: Block, final_norm: nn.Module | None = None) -> Float[Tensor, "d d"]:
    """J^l_tt = d f^l(X^{l-1})_t / d x^{l-1}_t with f^l(X) = F^l(X) - X (paper, Eq. 8).

    Row i is the gradient of output i. With `final_norm`, f^L(X) = norm(F^L(X)) - X (Eq. 7).

    Args:
        block: a captured block.
        final_norm: the model's final norm where it belongs to this block.

    Returns:
        J without the contribution of the skip connection, in the dtype of the block.

    Raises:
        InputError: where the block changes the width, or its replay is not what the model ran.
        ComputeError: where J is zero or not finite.
    """
    x = block.state.detach().clone()[None, None].requires_grad_()
    with torch.enable_grad():
        y = block.replay(x)
        _check_replay(block, y)
        if final_norm is not None:
            y = final_norm(y)
        identity = torch.eye(y.numel(), dtype=y.dtype, device=y.device)
        rows = [
            torch.autograd.grad(y, x, chunk, retain_graph=True, is_grads_batched=True)[0][:, 0, 0]
            for chunk in identity.split(CHUNK)
        ]
    jacobian = torch.cat(rows)
    jacobian.diagonal().sub_(1)
    _check_values(block, jacobian)
    return jacobian


def _check_replay(block: Block, y: Float[Tensor, " d_out"]) -> None:
    if y.numel() != block.state.numel():
        raise InputError(
            f"block {block.number} maps width {block.state.numel()} to {y.numel()}: "
            "coupling needs blocks that keep the width of the residual stream"
        )
    error = float((y.detach() - block.output).norm() / block.output.norm())
    if not error <= REPLAY_TOLERANCE.get(y.dtype, 0.0):
        raise InputError(
            f"block {block.number} does not replay: its output differs by {error:.1e} (relative) "
            f"from what the model computed in {y.dtype}; the block keeps a state of its own, "
            "or the model is not float32 in evaluation mode"
        )


def _check_values(block: Block, jacobian: Float[Tensor, "d d"]) -> None:
    if not torch.isfinite(jacobian).all():
        raise ComputeError(f"the Jacobian of block {block.number} is not finite (NaN or infinity)")
    if not jacobian.any():
        raise ComputeError(
            f"the Jacobian of block {block.number} is exactly zero: the block passes no gradient "
            "(quantised weights without autograd?) or does nothing"
        )
