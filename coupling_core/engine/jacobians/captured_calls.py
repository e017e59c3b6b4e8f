"""Calls of blocks, captured as the model makes them so that they can be replayed."""

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from coupling_core.base.errors import InputError, a_type


@dataclass(frozen=True)
class Call:
    """One call of a block.

    Args:
        module: the block.
        args: of the call, caches frozen as the block met them.
        kwargs: likewise.
        output: the states that it returned (1 token d_out).
        writes: whether it writes into the states that it is given, and so must be given a copy.
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor
    writes: bool = False

    @property
    def hidden(self) -> Tensor:
        """The states that the block was given: (1 token d), once a run was looked at."""
        given = self.args[0] if self.args else self.kwargs.get(self.first)
        if not isinstance(given, Tensor):
            raise InputError(
                f"{a_type(self.module)} takes {_kind(given)} first, and not the states of "
                "a residual stream: expected a block that takes them and gives them back"
            )
        return given

    def arguments(self, hidden: Float[Tensor, "..."]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for other states, all else as it was."""
        # The call's own caches were frozen before it ran; each replay needs fresh copies again.
        args, kwargs = frozen(self.args), frozen(self.kwargs)
        hidden = hidden.clone() if self.writes else hidden
        if args:
            return (hidden, *args[1:]), kwargs
        return args, kwargs | {self.first: hidden}

    @property
    def first(self) -> str:
        """The name under which the block takes its states, where they are not its first argument.

        Of a block of somebody's own it is that of its first parameter.
        """
        return _first(self.module, self.kwargs)

    def double(self) -> "Call":
        """The same call with all that it is given in float64; its output is as exact as it was."""
        args, kwargs = _doubled(frozen(self.args)), _doubled(frozen(self.kwargs))
        return replace(self, args=args, kwargs=kwargs)

    def replay(
        self, hidden: Float[Tensor, "sequence token d"]
    ) -> Float[Tensor, "sequence token d_out"]:
        """What the block gives for other states, of as many sequences as it was called with."""
        args, kwargs = self.arguments(hidden)
        with _OutOfPlace() if self.writes else nullcontext():
            return tensor_of(self.module(*args, **kwargs))


class _OutOfPlace(TorchFunctionMode):
    """While it lasts, `x += y` is `x = x + y`: autograd still needs the x of before."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _PLAIN.get(func, func)(*args, **(kwargs or {}))


_PLAIN: dict[Any, Any] = {
    Tensor.add_: torch.add,
    Tensor.sub_: torch.sub,
    Tensor.mul_: torch.mul,
    Tensor.div_: torch.div,
}


@contextmanager
def capturing(blocks: nn.ModuleList) -> Iterator[list[Call]]:
    """Collect each block's call, with any cache in its arguments frozen as the block met it.

    A block is given a copy of its states, lest it write into what the block before it gave.
    """
    calls: list[Call] = []
    pending: list[tuple[tuple[Any, ...], dict[str, Any], Tensor | None]] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = _first(module, kwargs)
        given = args[0] if args else kwargs.get(name)
        copied = given.clone() if isinstance(given, Tensor) else None
        pending.append((frozen(args), frozen(kwargs), copied))
        if copied is None:
            return None
        return ((copied, *args[1:]), kwargs) if args else (args, kwargs | {name: copied})

    def after(module: nn.Module, args: Any, output: Any) -> None:
        given, named, copied = pending.pop()
        calls.append(Call(module, given, named, tensor_of(output), _is_written(copied)))

    handles = [block.register_forward_pre_hook(before, with_kwargs=True) for block in blocks]
    handles += [block.register_forward_hook(after) for block in blocks]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _first(module: nn.Module, kwargs: dict[str, Any]) -> str:
    if "hidden_states" in kwargs:
        return "hidden_states"
    return next(iter(inspect.signature(module.forward).parameters), "")


def _is_written(copied: Tensor | None) -> bool:
    """Whether a fresh copy was written into; in inference mode nobody knows."""
    return copied is not None and (copied.is_inference() or copied._version > 0)


def frozen(value: Any) -> Any:
    """Copy containers and caches but share tensors: a live cache would poison the replay."""
    if isinstance(value, tuple | list):
        return type(value)(frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: frozen(item) for name, item in value.items()}
    if hasattr(value, "get_seq_length"):  # every cache of transformers
        clone = copy.copy(value)
        for name, item in vars(value).items():
            setattr(clone, name, _frozen_part(item))
        return clone
    return value


def _frozen_part(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(layer) for layer in value]
    return frozen(value)


def _copied(layer: Any) -> Any:
    """A shallow copy; every replay of every block makes one of each layer of its cache."""
    if not hasattr(layer, "get_mask_sizes"):  # a layer of transformers' own is a plain object
        return copy.copy(layer)
    clone = object.__new__(type(layer))
    vars(clone).update(vars(layer))  # as `copy.copy` does in eight times as long
    return clone


def _doubled(value: Any) -> Any:
    """Floating tensors in float64, in containers and caches that are the caller's own."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, tuple | list):
        return type(value)(_doubled(item) for item in value)
    if isinstance(value, dict):
        return {name: _doubled(item) for name, item in value.items()}
    if hasattr(value, "get_seq_length") or hasattr(value, "keys"):
        for name, item in vars(value).items():
            setattr(value, name, _doubled(item))
    return value


def tensor_of(output: Any) -> Tensor:
    """The states, where a module returns them alone or first of several things."""
    found = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(found, Tensor):
        raise InputError(f"a block gives {_kind(found)} where states were expected")
    return found


def with_states(output: Any, states: Tensor) -> Any:
    """What a module returned, with other states in the place of its own."""
    return states if isinstance(output, Tensor) else type(output)((states, *output[1:]))


@contextmanager
def recording(blocks: nn.ModuleList) -> Iterator[list[Any]]:
    """Collect what each block gives, in the form in which it gives it."""
    outputs: list[Any] = []
    handles = [
        block.register_forward_hook(lambda _, args, output: outputs.append(output))
        for block in blocks
    ]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def _kind(value: Any) -> str:
    return "nothing" if value is None else a_type(value)


def is_same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers at the same place, perhaps in another shape."""
    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()
