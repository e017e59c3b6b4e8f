"""A block's branches, and the Jacobian of each in forward mode.

A branch is a module inside a block that takes the measured token's vector and gives one vector
back: attention, an MLP. With directions e_1 .. e_d at its input z,

    W z -> W e_i = column i of W        (the first linear maps cost no product)
    then norms, activations, attention  (a few numbers a direction)
    then the last linear map            (the one product)

so that an MLP with a gate costs one product where a backward pass has three, and attention one
where it has four. What surrounds the branches, norms and sums, has no product at all.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from coupling_core import past
from coupling_core.trace import frozen

CHUNK = 1024
"""Directions taken at a time: enough to fill the products, few enough to fit into memory."""


@dataclass(frozen=True)
class Branch:
    """One call of a branch while its block ran.

    Args:
        input: what it took: a function of the block's input and of the outputs before.
        output: what it gave, as a leaf of its own.
        jacobian: row i is the derivative of the output with respect to entry i of the input.
    """

    input: Tensor
    output: Tensor
    jacobian: Float[Tensor, "d_in d_out"]


@contextmanager
def branching(block: nn.Module) -> Iterator[list[Branch]]:
    """While it lasts, the branches of a block give leaves, and are listed in the order of calls.

    A module that is no branch (it takes two differentiated tensors, say, or has an operation
    without forward mode) runs as it is, and the modules inside it are tried.
    """
    branches: list[Branch] = []
    with ExitStack() as stack:
        for module in block.modules():
            if module is not block and any(p.ndim > 1 for p in module.parameters()):
                _divert(stack, module, branches)
        yield branches


def _divert(stack: ExitStack, module: nn.Module, branches: list[Branch]) -> None:
    forward, own = module.forward, vars(module).get("forward")

    def diverted(*args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and (given := _input(args, kwargs)) is not None:
            call = _Call(forward, given, args, kwargs)
            if (jacobian := call.jacobian()) is not None:
                result = call(given.detach())
                leaf = _first(result).detach().requires_grad_()
                branches.append(Branch(given, leaf, jacobian))
                shown = leaf.clone()  # some blocks add to it in place, which a leaf forbids
                return shown if isinstance(result, Tensor) else type(result)((shown, *result[1:]))
        return forward(*args, **kwargs)

    def restore() -> None:
        if own is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = own

    module.__dict__["forward"] = diverted
    stack.callback(restore)


def _input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The one vector that a call is differentiated by; None where there is no such, or another."""
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor) and a.requires_grad]
    if len(tensors) != 1 or tensors[0].numel() != tensors[0].shape[-1]:
        return None
    return tensors[0]


@dataclass(frozen=True)
class _Call:
    """A module's call as a function of one of its arguments, which may be repeated."""

    forward: Callable[..., Any]
    given: Tensor
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, z: Tensor) -> Any:
        args = tuple(z if a is self.given else frozen(a) for a in self.args)
        kwargs = {k: z if a is self.given else frozen(a) for k, a in self.kwargs.items()}
        with torch.no_grad():
            return self.forward(*args, **kwargs)

    def jacobian(self) -> Float[Tensor, "d_in d_out"] | None:
        """Rows by directions of the input; None where an operation has no forward mode."""
        z = self.given.detach()
        try:
            with _FirstMaps(z) as first:
                self(z)
            order, weights, outputs = first.order, first.weights, first.outputs

            def run(z: Tensor, *outputs: Tensor) -> Tensor:
                with _Forward(dict(zip(order, outputs, strict=True))):
                    return _first(self(z))

            def along(*directions: Tensor) -> Tensor:
                return torch.func.jvp(run, (z, *outputs), directions)[1]

            unit = torch.eye(z.numel(), dtype=z.dtype, device=z.device).reshape(-1, *z.shape)
            columns = [
                w.mT.reshape(-1, *y.shape) for w, y in zip(weights, outputs, strict=True)
            ]
            moved = torch.func.vmap(along, chunk_size=CHUNK)(unit, *columns)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception:  # whatever an operation without forward mode raises: the backward has it
            return None
        return moved.reshape(z.numel(), -1)


def _first(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output[0]


class _LinearMaps(TorchFunctionMode):
    """Counts the linear maps of a call, by which two runs of it are brought together."""

    def __init__(self) -> None:
        super().__init__()
        self.count = -1

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.linear:
            self.count += 1
            return self.linear(func, args[0], args[1], args, kwargs)
        if func is torch.addmm:  # the transposed layer of GPT-2
            self.count += 1
            return self.linear(func, args[1], args[2].mT, args, kwargs)
        return self.other(func, args, kwargs)

    def linear(self, func: Any, z: Tensor, weight: Tensor, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError

    def other(self, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


class _FirstMaps(_LinearMaps):
    """Notes the linear maps of the input itself."""

    def __init__(self, z: Tensor) -> None:
        super().__init__()
        self.z = z
        self.order: list[int] = []
        self.weights: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def linear(self, func: Any, z: Tensor, weight: Tensor, args: Any, kwargs: Any) -> Any:
        output = func(*args, **kwargs)
        if z.data_ptr() == self.z.data_ptr() and z.numel() == self.z.numel():
            self.order.append(self.count)
            self.weights.append(weight)
            self.outputs.append(output)
        return output


class _Forward(_LinearMaps):
    """Puts what the first maps give, with its directions, in their place."""

    def __init__(self, outputs: dict[int, Tensor]) -> None:
        super().__init__()
        self.outputs = outputs

    def linear(self, func: Any, z: Tensor, weight: Tensor, args: Any, kwargs: Any) -> Any:
        known = self.outputs.get(self.count)
        return func(*args, **kwargs) if known is None else known

    def other(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is torch.cat:
            return past.join(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return past.attention(*args, **kwargs)
        return func(*args, **kwargs)
