"""A model of some of its blocks alone, as transformers itself would build and load it.

Nothing is known of families: the config's number of blocks is changed, and every list in it that
has an entry for each block is cut alike. Whether that makes the model that was meant shows when its
weights are put in, and when it is run: whoever saves one compares it with what was measured.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM

from coupling_core.base.errors import InputError, refuse
from coupling_core.engine.loading.blocks import find_stacks
from coupling_core.engine.loading.weights import is_quantised
from coupling_core.engine.loading.words import quiet
from coupling_core.engine.loading.wrapped import Wrapped, class_name

_COUNT = "num_hidden_layers"


def shortened(model: nn.Module, kept: Sequence[int]) -> Any:
    """A model of some of a model's blocks, which has its weights, and no copy of them.

    Raises `InputError` where there is no such model of this family, and why.
    """
    path = require_shortenable(model)
    whole: Any = model
    config = shorter_config(whole.config, kept)
    with torch.device("meta"), quiet():
        short = _built(type(whole), config)
    try:
        short.load_state_dict(_renumbered(whole.state_dict(), path, kept), assign=True)
    except RuntimeError as error:
        raise InputError(
            f"the weights of {class_name(model)} do not fit what transformers builds of its config "
            f"with {len(kept)} blocks: blocks of several kinds would lie in other places there, or "
            "parts were added to the model"
        ) from error
    short.tie_weights()
    short.generation_config = copy.deepcopy(getattr(whole, "generation_config", None))
    return short.eval()


def require_shortenable(model: nn.Module) -> str:
    """Refuse a model of which no shorter one can be saved.

    It gives where its blocks are, as the names of weights begin. Raises `InputError`, which says
    why not.
    """
    kind, stacks = class_name(model), find_stacks(model)
    config: Any = getattr(model, "config", None)
    is_causal = not isinstance(model, Wrapped) and type(model) in _causal_classes(config)
    refuse(
        (
            not is_causal or len(stacks) != 1 or config.is_encoder_decoder,
            f"{kind} is no causal language model of transformers with one stack of blocks: blocks "
            "are judged by the loss of the next token, and saved with a smaller config",
        ),
        (
            any(map(is_quantised, model.modules())),
            f"the weights of {kind} are quantised: prune the model that they came of",
        ),
    )
    ((path, blocks),) = stacks.items()
    count = getattr(config.get_text_config(), _COUNT, None)
    if count != len(blocks):
        raise InputError(
            f"the config of {kind} counts {count} blocks, and it has {len(blocks)}: a model whose "
            "blocks are not all in one count cannot be cut"
        )
    return path


def shorter_config(config: Any, kept: Sequence[int]) -> Any:
    """A config for the blocks that stay; what it lists by block is cut alike."""
    found = copy.deepcopy(config)
    part = found.get_text_config()
    L = getattr(part, _COUNT)
    by_block = {
        name: [value[block - 1] for block in kept]
        for name, value in vars(part).items()
        if isinstance(value, list | tuple) and len(value) == L and name != "architectures"
    }
    nested = getattr(part, "attention_types", None)  # GPT-Neo spells its list of kinds in runs
    if isinstance(nested, list) and "attention_layers" in by_block:
        by_block["attention_types"] = [[[kind], 1] for kind in by_block["attention_layers"]]
    for name, value in by_block.items():
        vars(part)[name] = value
    setattr(part, _COUNT, len(kept))
    return found


def save_whole(model: nn.Module, tokenizer: Any, folder: Path) -> None:
    """Write a model and its tokenizer into a folder, as `from_pretrained` reads them.

    Weights are written in the precision that the config names where they lose nothing by that, and
    else in float32.
    """
    written: Any = model
    dtype = _precision(written)
    written.to(dtype)
    written.config.dtype = dtype
    with quiet():
        written.save_pretrained(folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)


def reloaded(folder: Path, device: torch.device) -> Any:
    """What transformers alone makes of a folder, computing in float32."""
    with quiet():
        model: Any = AutoModelForCausalLM.from_pretrained(  # nosec B615 - a folder
            folder, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
        )
    return model.to(device).eval()


def _built(kind: Any, config: Any) -> Any:
    config.dtype = torch.float32
    return kind._from_config(config, dtype=torch.float32)


def _renumbered(state: dict[str, Any], path: str, kept: Sequence[int]) -> dict[str, Any]:
    """The weights of the whole model but for the blocks that go, the others counted anew."""
    places = {str(block - 1): str(place) for place, block in enumerate(kept)}
    found: dict[str, Any] = {}
    for name, weight in state.items():
        if not name.startswith(f"{path}."):
            found[name] = weight
            continue
        number, _, rest = name[len(path) + 1 :].partition(".")
        if number in places:
            found[f"{path}.{places[number]}.{rest}"] = weight
    return found


def _precision(model: nn.Module) -> torch.dtype:
    """Half precision where all weights are exact in it; else float32."""
    for half in (torch.bfloat16, torch.float16):
        if all(
            torch.equal(weight.to(half).to(weight.dtype), weight) for weight in model.parameters()
        ):
            return half
    return torch.float32


def _causal_classes(config: Any) -> tuple[type, ...]:
    """The classes as which `AutoModelForCausalLM` loads a folder of this config."""
    known: Any = AutoModelForCausalLM._model_mapping
    found = known[type(config)] if type(config) in known else ()
    return found if isinstance(found, tuple) else (found,)
