"""A captured block's Jacobian at one token.

Its branches have their Jacobians from forward mode (see `branches`); what joins them, norms and
sums, is differentiated backwards, a batch of rows at a time:

    y = x + f(norm(x)) + ...        dy/dx = I + F dnorm/dx + ...
"""

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.jacobians.branches import Branch, branching
from coupling_core.engine.jacobians.captured_block import Block, random_directions
from coupling_core.engine.jacobians.gradients import batched_gradients
from coupling_core.engine.matrix_products import product
from coupling_core.engine.out_of_memory import Chunks

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
    with torch.enable_grad(), branching(block.module if block.fast else None) as branches:
        y = block.replay(x)
        check_replay(block, y)
        f = residual(y, x[0, 0], final_norm)
    (jacobian,) = pull_back(f, [x], branches)
    _check_values(block, jacobian)
    return jacobian


def residual(
    y: Float[Tensor, " d"], x: Float[Tensor, " d"], final_norm: nn.Module | None
) -> Float[Tensor, " d"]:
    """The residual map F(x) - x, or norm(F(x)) - x where the final norm belongs to it (Eq. 7).

    Differentiated so, and not with the identity taken from a derivative of F, small derivatives
    keep the digits that they would lose next to 1.
    """
    return (y if final_norm is None else final_norm(y)) - x


def pull_back(
    y: Float[Tensor, " d"], inputs: list[Tensor], branches: list[Branch]
) -> list[Float[Tensor, "d d_in"]]:
    """Jacobians of y by each input, flattened, a number of rows at a time.

    Args:
        y: what was computed under `branching`.
        inputs: leaves, or tensors met on the way to y.
        branches: of that computation.
    """
    identity = torch.eye(y.numel(), dtype=y.dtype, device=y.device)
    found = [identity.new_zeros(len(identity), given.numel()) for given in inputs]
    take = partial(_rows, y, inputs, branches, identity)
    for rows, parts in Chunks(CHUNK).of(take, len(identity)):
        for whole, part in zip(found, parts, strict=True):
            if part is not None:
                whole[rows] = part
    return found


def _rows(
    y: Float[Tensor, " d"],
    inputs: list[Tensor],
    branches: list[Branch],
    identity: Float[Tensor, "d d"],
    rows: slice,
) -> list[Float[Tensor, "row d_in"] | None]:
    """Rows of the Jacobians: pulled back from branch to branch, the last one first."""
    leaves = [*inputs, *(branch.output for branch in branches)]
    found = _rows_of_sum(y, leaves, identity[rows]) or pulled_rows(y, leaves, identity[rows])
    for index in reversed(range(len(branches))):
        cotangent = found.pop()
        if cotangent is None:
            continue
        branch = branches[index]
        if torch.equal(cotangent, identity[rows]):  # the branch is added to y as it is
            moved = branch.jacobian[rows]
        else:
            moved = product(cotangent, branch.jacobian)
        earlier = pulled_rows(branch.input, leaves[: len(inputs) + index], moved)
        found = [_sum(a, b) for a, b in zip(found, earlier, strict=True)]
    return found


def _rows_of_sum(
    y: Float[Tensor, " d"], leaves: list[Tensor], identity: Float[Tensor, "row d"]
) -> list[Float[Tensor, "row d"] | None] | None:
    """The first of these steps where y is the sum of some leaves, as one random row tells."""
    (row,) = random_directions(y, 1)
    parts = torch.autograd.grad(y, leaves, row, retain_graph=True, allow_unused=True)
    added = [None if part is None or not part.any() else part.flatten() for part in parts]
    if all(part is None or torch.equal(part, row) for part in added):
        return [None if part is None else identity for part in added]
    return None


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a + b


def pulled_rows(
    output: Tensor, leaves: list[Tensor], cotangents: Float[Tensor, "row d_out"]
) -> list[Float[Tensor, "row d_in"] | None]:
    """Cotangents of one vector, pulled back to each leaf; None where it does not depend on it."""
    found = batched_gradients(output, leaves, cotangents.reshape(-1, *output.shape))
    return [None if part is None else part.flatten(1) for part in found]


def check_replay(block: Block, y: Float[Tensor, " d_out"]) -> None:
    """Refuse a replay that is not what the model ran, or a block that changes the width."""
    if y.numel() != block.state.numel():
        raise InputError(
            f"block {block.number} maps width {block.state.numel()} to {y.numel()}: "
            "coupling needs blocks that keep the width of the residual stream"
        )
    error = float((y.detach() - block.output).norm() / block.output.norm())
    if not error <= REPLAY_TOLERANCE.get(block.output.dtype, 0.0):
        raise InputError(
            f"block {block.number} does not replay: its output differs by {error:.1e} (relative) "
            f"from what the model computed in {block.output.dtype}; the block keeps a state of its "
            "own or writes into what it is given (x.add_(y): write x = x + y), the program has "
            "replaced a function of torch, or the model is not float32 in evaluation mode"
        )


def _check_values(block: Block, jacobian: Float[Tensor, "d d"]) -> None:
    least, most = map(float, jacobian.aminmax())  # NaN where any entry is
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ComputeError(f"the Jacobian of block {block.number} is not finite (NaN or infinity)")
    if least == most == 0:
        raise ComputeError(
            f"the Jacobian of block {block.number} is exactly zero: the block passes no gradient "
            "(quantised weights without autograd?) or does nothing"
        )
