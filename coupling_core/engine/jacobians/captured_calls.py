"""Calls of blocks, captured as the model makes them so that they can be replayed."""

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from coupling_core.base.errors import InputError


@dataclass(frozen=True)
class Call:
    """One call of a block.

    Args:
        module: the block.
        args: of the call, caches frozen as the block met them.
        kwargs: likewise.
        output: the states that it returned (1 token d_out).
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor

    @property
    def hidden(self) -> Tensor:
        """The states that the block was given: (1 token d), once a run was looked at.

        Raises:
            InputError: where it takes them under another name, or something else first.
        """
        given = self.args[0] if self.args else self.kwargs.get(self.first)
        if not isinstance(given, Tensor):
            raise InputError(
                f"a {type(self.module).__name__} takes {_kind(given)} first, and not the states of "
                "a residual stream: expected a block that takes them and gives them back"
            )
        return given

    def arguments(self, hidden: Float[Tensor, "..."]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for other states, all else as it was."""
        # The call's own caches were frozen before it ran; each replay needs fresh copies again.
        args, kwargs = frozen(self.args), frozen(self.kwargs)
        if args:
            return (hidden, *args[1:]), kwargs
        return args, kwargs | {self.first: hidden}

    @property
    def first(self) -> str:
        """The name under which the block takes its states, where they are not its first argument.

        Of a block of somebody's own it is that of its first parameter.
        """
        if "hidden_states" in self.kwargs:
            return "hidden_states"
        return next(iter(inspect.signature(self.module.forward).parameters), "")

    def double(self) -> "Call":
        """The same call with all that it is given in float64; its output is as exact as it was."""
        args, kwargs = _doubled(frozen(self.args)), _doubled(frozen(self.kwargs))
        return Call(self.module, args, kwargs, self.output)

    def replay(
        self, hidden: Float[Tensor, "sequence token d"]
    ) -> Float[Tensor, "sequence token d_out"]:
        """What the block gives for other states, of as many sequences as it was called with."""
        args, kwargs = self.arguments(hidden)
        return tensor_of(self.module(*args, **kwargs))


@contextmanager
def capturing(blocks: nn.ModuleList) -> Iterator[list[Call]]:
    """Collect each block's call, with any cache in its arguments frozen as the block met it."""
    calls: list[Call] = []
    pending: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pending.append((frozen(args), frozen(kwargs)))

    def after(module: nn.Module, args: Any, output: Any) -> None:
        calls.append(Call(module, *pending.pop(), tensor_of(output)))

    handles = [block.register_forward_pre_hook(before, with_kwargs=True) for block in blocks]
    handles += [block.register_forward_hook(after) for block in blocks]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


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
    """The states, where a module returns them alone or first of several things.

    Raises:
        InputError: where it returns none.
    """
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
    return "nothing" if value is None else f"a {type(value).__name__}"


def is_same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same numbers at the same place, perhaps in another shape."""
    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()
