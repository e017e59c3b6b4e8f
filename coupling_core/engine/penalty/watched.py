"""The calls of a model's blocks in a training step's forward pass, kept with their graphs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from coupling_core.base.errors import InputError
from coupling_core.engine.jacobians.captured_calls import frozen


class Watched:
    """What each block was last called with while the model trained.

    Nothing of the pass is changed. A pass in evaluation mode, or without gradients, is not looked
    at; where blocks run anew for checkpointed gradients, what they were called with is the same.

    Args:
        blocks: of the model, in the order in which they run.
    """

    def __init__(self, blocks: Sequence[nn.Module]) -> None:
        self._calls: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._versions: dict[int, int] = {}
        self._unseen = False
        self._handles: list[RemovableHandle] = [
            block.register_forward_pre_hook(self._hook(at), with_kwargs=True)
            for at, block in enumerate(blocks)
        ]
        self._count = len(blocks)

    def _hook(self, at: int) -> Any:
        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if module.training and torch.is_grad_enabled():
                self._calls[at] = frozen(args), frozen(kwargs)
                self._versions[at] = _version(args, kwargs)
            elif module.training:
                self._unseen = True

        return before

    def take(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments of every block in the last pass, which are then forgotten.

        Raises:
            InputError: where there was no such pass since the last time, or a block wrote into
                what it was given.
        """
        if len(self._calls) < self._count:
            self._calls = {}
            why = (
                "the blocks ran without gradients, as reentrant checkpointing has them run: turn "
                "checkpointing on with use_reentrant=False"
                if self._unseen
                else "run the model in training mode, with gradients, once before each penalty"
            )
            raise InputError(f"the penalty has no forward pass to be taken of: {why}")
        found = [self._calls[at] for at in range(self._count)]
        if any(_version(*call) != self._versions[at] for at, call in enumerate(found)):
            raise InputError(
                "a block writes into the states that it is given, and the penalty needs them as "
                "they were: write x = x + f(x) in place of x += f(x)"
            )
        self._calls, self._unseen = {}, False
        return found

    def close(self) -> None:
        """Look at the blocks no longer."""
        for handle in self._handles:
            handle.remove()
        self._calls = {}


def _version(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """How often the states have been written into that a block was given."""
    states = args[0] if args else kwargs.get("hidden_states")
    return states._version if isinstance(states, Tensor) else 0


def spread(value: Any, count: int, of: int) -> Any:
    """What belongs to some sequences of a batch, in containers; all else as it is.

    They lie evenly over the batch, so that processes which share a batch take the same ones.

    Args:
        value: of a block's call.
        count: sequences that are kept.
        of: sequences of the batch; a tensor with as many rows has one for each.
    """
    if isinstance(value, Tensor):
        mine = value.ndim > 1 and len(value) == of
        return value[:: of // count][:count] if mine else value
    if isinstance(value, tuple | list):
        return type(value)(spread(item, count, of) for item in value)
    if isinstance(value, dict):
        return {name: spread(item, count, of) for name, item in value.items()}
    return value


def in_precision(value: Any, dtype: torch.dtype) -> Any:
    """Floating tensors in another precision, in containers; with their graphs."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple | list):
        return type(value)(in_precision(item, dtype) for item in value)
    if isinstance(value, dict):
        return {name: in_precision(item, dtype) for name, item in value.items()}
    return value
