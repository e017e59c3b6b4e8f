"""What first order predicts of interchanging two neighbours, beside what it does to the state.

    x^{l+1} of the model, less that with the two interchanged
        = J^{l+1} f^l - J^l f^{l+1} + higher orders

with f^l, f^{l+1} and their Jacobians, over the whole sequence, all at X^{l-1}: the Lie bracket of
the two residual maps. It is 0 where blocks commute; coupled blocks need not.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.jacobians.captured_calls import Call
from coupling_core.engine.jacobians.derivative_check import check_along


@dataclass(frozen=True)
class Exchange:
    """What interchanging blocks l and l + 1 does to x^{l+1}, by token.

    Args:
        true: norm of the change, in units of norm(x^{l+1}).
        predicted: the same of what first order predicts.
        cosine: of the angle between the two; NaN where one of them is 0.
    """

    true: Float[Tensor, " token"]
    predicted: Float[Tensor, " token"]
    cosine: Float[Tensor, " token"]


def exchange(replays: Replays, block: int) -> Exchange:
    """Interchange blocks l and l + 1 in truth and to first order."""
    lower, upper = replays.call(block), _at(replays, block + 1, replays.call(block).hidden)
    predicted = jacobian_product(upper, block + 1, _map(lower)) - jacobian_product(
        lower, block, _map(upper)
    )
    true = replays.call(block + 1).output - replays.run(block, upper.output)
    size = replays.call(block + 1).output.norm(dim=-1)
    angle = torch.nn.functional.cosine_similarity(true.double(), predicted.double(), -1, 0.0)
    return Exchange(
        (true.norm(dim=-1) / size)[0], (predicted.norm(dim=-1) / size)[0], angle[0].to(size)
    )


def jacobian_product(
    call: Call, number: int, direction: Float[Tensor, "1 token d"]
) -> Float[Tensor, "1 token d"]:
    """J^l v over the whole sequence, without the skip connection, checked against a difference."""
    X = call.hidden.detach().clone().requires_grad_()
    # As in `linearised_path`: the derivative of a backward pass, which is linear in u.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        f = call.replay(X) - X
        u = torch.zeros_like(f, requires_grad=True)
        (pulled,) = torch.autograd.grad(f, X, u, create_graph=True)
        (pushed,) = torch.autograd.grad(pulled, u, direction)
    if bool(direction.any()):
        check_along(call, number, direction, pushed)
    return pushed


def _at(replays: Replays, block: int, states: Float[Tensor, "1 token d"]) -> Call:
    """A block's call as if other states had reached it."""
    call = replays.call(block)
    args, kwargs = call.arguments(states)
    return replace(call, args=args, kwargs=kwargs, output=replays.run(block, states))


def _map(call: Call) -> Float[Tensor, "1 token d"]:
    """f^l(X), the residual map of a block at the states of its call."""
    return (call.output - call.hidden).detach()
