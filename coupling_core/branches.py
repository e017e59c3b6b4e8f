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
import torch.autograd.forward_ad as fwAD
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
            differentiated = _differentiate(_Call(forward, given, args, kwargs))
            if differentiated is not None:
                output, jacobian = differentiated
                leaf = _first(output).requires_grad_()
                branches.append(Branch(given, leaf, jacobian))
                shown = leaf.clone()  # some blocks add to it in place, which a leaf forbids
                return shown if isinstance(output, Tensor) else type(output)((shown, *output[1:]))
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


def _differentiate(call: _Call) -> tuple[Any, Float[Tensor, "d_in d_out"]] | None:
    """A call's output and Jacobian; None where an operation has no forward mode."""
    z = call.given.detach()
    try:
        with _Recorded() as maps:
            output = call(z)
        moved = _along_all(call, z, maps)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception:  # whatever an operation without forward mode raises: the backward pass has it
        return None
    return output, moved


def _along_all(call: _Call, z: Tensor, maps: "_Recorded") -> Float[Tensor, "d_in d_out"]:
    """Derivatives of a call's output along every entry of its input."""
    first = [number for number, taken in enumerate(maps.inputs) if _is_same(taken, z)]
    given = [maps.outputs[number] for number in first]

    def run(z: Tensor, *given: Tensor) -> Tensor:
        with _Forward(maps.outputs, dict(zip(first, given, strict=True))):
            return _first(call(z))

    def along(*directions: Tensor) -> Tensor:
        return torch.func.jvp(run, (z, *given), directions)[1]

    unit = torch.eye(z.numel(), dtype=z.dtype, device=z.device).reshape(-1, *z.shape)
    # In the layout of what they are directions of, since autograd would copy them otherwise.
    columns = [
        maps.weights[number].mT.contiguous().reshape(-1, *maps.outputs[number].shape)
        for number in first
    ]
    chunk = CHUNK if z.numel() > CHUNK else None
    return torch.func.vmap(along, chunk_size=chunk)(unit, *columns).flatten(1)


def _first(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output[0]


def _is_same(a: Tensor, b: Tensor) -> bool:
    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()


class _LinearMaps(TorchFunctionMode):
    """Numbers the linear maps of a call, by which two runs of it are brought together."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.linear:
            z, weight = args[0], args[1]
        elif func is torch.addmm:  # the transposed layer of GPT-2
            z, weight = args[1], args[2].mT
        else:
            return self.other(func, args, kwargs)
        self.count += 1
        return self.linear(self.count - 1, z, weight, lambda: func(*args, **kwargs))

    def linear(self, number: int, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        raise NotImplementedError

    def other(self, func: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


class _Recorded(_LinearMaps):
    """Keeps what each linear map took and gave."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[Tensor] = []
        self.weights: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def linear(self, number: int, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        output = run()
        self.inputs.append(z)
        self.weights.append(weight)
        self.outputs.append(output)
        return output


class _Forward(_LinearMaps):
    """Gives each linear map's known output, with the directions it has there."""

    def __init__(self, outputs: list[Tensor], first: dict[int, Tensor]) -> None:
        super().__init__()
        self.outputs, self.first = outputs, first

    def linear(self, number: int, z: Tensor, weight: Tensor, run: Callable[[], Tensor]) -> Tensor:
        if number in self.first:
            return self.first[number]
        if (direction := fwAD.unpack_dual(z).tangent) is None:
            return run()
        moved = F.linear(direction, weight)
        return fwAD.make_dual(self.outputs[number].reshape(moved.shape), moved)

    def other(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is torch.cat:
            return past.join(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return past.attention(*args, **kwargs)
        return func(*args, **kwargs)
