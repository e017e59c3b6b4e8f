"""A block's Jacobian at one token of every sequence of a batch, as products with directions.

    J^T u   one vector-Jacobian product; its graph can be kept, so that it is differentiated again
    J v     the same product, which is linear in u, differentiated by u

All sequences go through one product: what a token's output is made of is of its own sequence alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from coupling_core.base.errors import InputError
from coupling_core.engine.jacobians.captured_calls import Call, tensor_of
from coupling_core.engine.penalty.watched import in_precision

Directions = Float[Tensor, "sequence d k"]


class Linear:
    """f = F - X of one block at a token, around what it was called with.

    The block runs once more in evaluation mode, in its own precision and without its hooks: what is
    dropped or rounded in training is no part of the Jacobian.

    Args:
        call: of the block.
        token: index of the token, from 0.
        attached: whether what is taken of it goes on to whatever made its input.
    """

    def __init__(
        self,
        call: Call,
        token: int,
        *,
        attached: bool,
    ) -> None:
        block = call.module
        dtype = next((p.dtype for p in block.parameters() if p.is_floating_point()), torch.float32)
        args, kwargs = (in_precision(given, dtype) for given in (call.args, call.kwargs))
        call = replace(call, args=args, kwargs=kwargs)
        hidden = call.hidden
        if hidden.ndim != 3 or token >= hidden.shape[1]:
            raise InputError(
                f"a block was given states of the shape {tuple(hidden.shape)}: expected "
                f"(sequence, token, d) with more than {token} tokens"
            )
        if not (attached and hidden.requires_grad):
            hidden = hidden.detach().requires_grad_()
        with _quietly(block), torch.enable_grad():
            given, named = call.arguments(hidden)
            moved = tensor_of(block.forward(*given, **named)) - hidden
        self._hidden, self._moved, self._token = hidden, moved[:, token], token

    @property
    def shape(self) -> tuple[int, int]:
        """Sequences, and the width d."""
        return self._moved.shape[0], self._moved.shape[1]

    @property
    def device(self) -> torch.device:
        """Where it is computed."""
        return self._moved.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the states."""
        return self._moved.dtype

    def backward(self, u: Directions, *, keep_graph: bool = False) -> Directions:
        """J^T u of every sequence.

        With `keep_graph`, the product can be differentiated again.
        """
        given = u.to(self.dtype).unbind(-1)
        return wide(torch.stack([self._product(one, keep_graph) for one in given], -1))

    def forward(self, v: Directions) -> Directions:
        """J v of every sequence."""
        u = torch.zeros_like(self._moved, requires_grad=True)
        product = self._product(u, keep_graph=True)
        given = v.to(self.dtype).unbind(-1)
        found = [torch.autograd.grad(product, u, one, retain_graph=True)[0] for one in given]
        return wide(torch.stack(found, -1))

    def _product(self, u: Tensor, keep_graph: bool) -> Tensor:
        (found,) = torch.autograd.grad(
            self._moved, self._hidden, u, create_graph=keep_graph, retain_graph=True
        )
        return found[:, self._token]


def wide(values: Tensor) -> Tensor:
    """In float32 where they are in less."""
    return values if values.dtype == torch.float64 else values.float()


@contextmanager
def _quietly(block: nn.Module) -> Iterator[None]:
    """A block in evaluation mode and full precision, by attention that is differentiated twice."""
    modes = [(part, part.training) for part in block.modules()]
    device = next((p.device.type for p in block.parameters()), "cpu")
    block.eval()
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.autocast(device, enabled=False):
            yield
    finally:
        for part, was in modes:
            part.training = was
