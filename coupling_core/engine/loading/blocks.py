"""The stack of transformer blocks inside a model, found without a table of architectures."""

from collections.abc import Callable
from typing import Any

from torch import nn
from transformers.modeling_layers import GradientCheckpointingLayer

from coupling_core.base.errors import InputError
from coupling_core.base.records import STACKS, Stack
from coupling_core.engine.loading.wrapped import Wrapped, class_name


def find_blocks(model: nn.Module, stack: Stack | None = None) -> nn.ModuleList:
    """The transformer blocks: the outermost ModuleList of gradient-checkpointing layers.

    Where no layer is of that kind, the largest outermost list whose members are all of one class.
    Whether the blocks found are those of a residual stream is checked when they run.

    Args:
        model: of transformers, or something that wraps one.
        stack: which of the two of an encoder-decoder model; None is the decoder there.

    Raises:
        InputError: where there is none, or which of several is meant is not known.
    """
    stacks = find_stacks(model)
    kind = class_name(model)
    first = next(iter(stacks.values()), None)
    if first is None or (len(stacks) == 1 and isinstance(first[0], nn.ModuleList)):
        raise InputError(
            f"{kind} has no single list of transformer blocks that all keep the tokens and their "
            "width, as the decoder and encoder families of transformers have"
        )
    if len(stacks) == 1:
        if stack is not None:
            raise InputError(f"{kind} has one stack of blocks only: leave out the stack {stack!r}")
        return first
    named = {part: blocks for path, blocks in stacks.items() for part in _parts(path)}
    if len(stacks) > 2 or len(named) != 2:
        raise InputError(
            f"{kind} has {len(stacks)} stacks of blocks ({', '.join(stacks)}): "
            "pass the part that holds one of them as the model"
        )
    return named[stack or "decoder"]


def measured_stack(model: nn.Module, stack: Stack | None) -> Stack | None:
    """Which stack of an encoder-decoder model is measured; None for any other model."""
    return (stack or "decoder") if len(find_stacks(model)) == 2 else None


def start_token(model: Any) -> int:
    """The token with which a decoder beside an encoder begins.

    Raises:
        InputError: where the model's configuration names none.
    """
    config = model.config
    names = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
    known = [getattr(config, name, None) for name in names]
    found = next((token for token in known if token is not None), None)
    if found is None:
        raise InputError(
            f"{type(model).__name__} names no token with which its decoder begins: set "
            "decoder_start_token_id in its configuration, or measure its encoder"
        )
    return int(found)


def _parts(path: str) -> list[Any]:
    names = [name.removeprefix("text_") for name in path.split(".")]
    return [stack for stack in STACKS if stack in names]


def find_stacks(model: nn.Module) -> dict[str, nn.ModuleList]:
    """Every stack of blocks by its path in the model; empty where there is none."""
    if isinstance(model, Wrapped):
        return {"blocks": model.blocks}
    if marked := _outermost(model, lambda layer: isinstance(layer, GradientCheckpointingLayer)):
        return marked
    alike = {
        name: layers
        for name, layers in _outermost(model, lambda layer: True).items()
        if len(layers) > 1 and len({type(layer) for layer in layers}) == 1
    }
    return dict(sorted(alike.items(), key=lambda item: _size(item[1]))[-1:])


def _outermost(model: nn.Module, is_block: Callable[[nn.Module], bool]) -> dict[str, nn.ModuleList]:
    found: dict[str, nn.ModuleList] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer in found)
        if isinstance(module, nn.ModuleList) and len(module) and not inside:
            if all(is_block(layer) for layer in module):
                found[name] = module
    return found


def _size(layers: nn.ModuleList) -> int:
    return sum(parameter.numel() for parameter in layers.parameters())
