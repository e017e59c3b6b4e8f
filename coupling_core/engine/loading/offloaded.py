"""Weights that accelerate keeps in main memory or on a disk until a module is called."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from accelerate.hooks import AlignDevicesHook, CpuOffload, SequentialHook
from accelerate.utils import named_module_tensors
from torch import Tensor, nn

from coupling_core.engine.loading import code

MOVING = ("_hf_hook", "_old_forward")
"""What accelerate puts on a module beside the forward that stands before its own."""
_MOVERS = (AlignDevicesHook, CpuOffload)


def only_moves(module: nn.Module, forward: Any) -> bool:
    """Whether accelerate has put its own forward before the module's, and that moves tensors."""
    before = vars(module).get("_old_forward")
    return (
        code.home(getattr(forward, "func", forward)) == "accelerate.hooks"
        and all(type(hook) in _MOVERS for hook in _hooks(module))
        and getattr(before, "__self__", None) is module
        and getattr(before, "__func__", None) is type(module).forward
    )


@contextmanager
def without_moving(model: nn.Module) -> Iterator[None]:
    """Run what accelerate has put itself before as it is: whoever calls it sees to its tensors."""
    moved = [m for m in model.modules() if only_moves(m, vars(m).get("forward"))]
    kept = [vars(module).pop("forward") for module in moved]
    try:
        yield
    finally:
        for module, forward in zip(moved, kept, strict=True):
            vars(module)["forward"] = forward


class Bringing:
    """Gives the tensors of a model: each itself, or what is kept elsewhere in its place.

    Args:
        model: whose tensors they are.
    """

    def __init__(self, model: nn.Module) -> None:
        self._known = {
            id(tensor): partial(hook.weights_map.__getitem__, name)
            for module in model.modules()
            for hook in _hooks(module)
            if isinstance(hook, AlignDevicesHook) and hook.weights_map is not None
            for name, tensor in named_module_tensors(module, recurse=hook.place_submodules)
            if tensor.is_meta and name in hook.weights_map
        }

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor is anywhere; nothing is read for that."""
        return not tensor.is_meta or id(tensor) in self._known

    def __call__(self, tensor: Tensor) -> Tensor:
        """What it holds, read where it is kept on a disk; what is nowhere stays on `meta`."""
        return self._known[id(tensor)]() if id(tensor) in self._known else tensor


def device_of(model: nn.Module) -> torch.device:
    """Where a model computes: where its weights are, or are brought as they are needed."""
    there = [parameter.device for parameter in model.parameters() if not parameter.is_meta]
    hooks = (hook for module in model.modules() for hook in _hooks(module))
    brought = (getattr(hook, "execution_device", None) for hook in hooks)
    there += [torch.device(device) for device in brought if device is not None]
    return there[0] if there else torch.device("meta")


def _hooks(module: nn.Module) -> tuple[Any, ...]:
    hook = vars(module).get("_hf_hook")
    if hook is None:
        return ()
    return hook.hooks if type(hook) is SequentialHook else (hook,)
