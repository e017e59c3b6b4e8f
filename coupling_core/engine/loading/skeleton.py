"""A model's architecture from its config alone: all its modules, and none of its weights."""

import copy
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import init_empty_weights
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from coupling_core.engine.loading.configs import read_config
from coupling_core.engine.loading.convert import require_shipped
from coupling_core.engine.loading.gguf_reading import read_fast
from coupling_core.engine.loading.loading import auto_class, require_known_quantisation
from coupling_core.engine.loading.precision import stored_weights
from coupling_core.engine.loading.words import plain_errors, quiet
from coupling_core.engine.plain_torch import plain_torch
from coupling_core.sources import hub
from coupling_core.sources.gguf_head import read_head
from coupling_core.sources.identity import Source

VOCABULARY = 16
"""Tokens that a rehearsal knows: embeddings of a whole vocabulary would take gigabytes."""
STD = 0.02
"""Of a rehearsal's random weights."""

_FORMATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "U8": "uint8"}


@dataclass(frozen=True)
class Skeleton:
    """A model without weights.

    Args:
        config: of transformers.
        family: the class of transformers that makes a model of it.
        model: the module that `load` would give, its tensors on the device `meta`.
    """

    config: Any
    family: Any
    model: nn.Module


@plain_torch()
def skeleton(source: Source) -> Skeleton:
    """Build a model from its config; of a hub model that is not here, only that is fetched."""
    where, options = _config_place(source)
    with plain_errors(source), quiet(), read_fast() if options else nullcontext():
        config = read_config(where, options)
        if source.kind != "gguf":  # what a GGUF file is quantised by is undone as it is converted
            require_known_quantisation(config)
            family = auto_class(config)
        else:  # and it does not say which head it has
            family = AutoModelForCausalLM
        with torch.device("meta"):  # buffers too, which a config may make as large as it likes
            return Skeleton(config, family, family.from_config(config, dtype=torch.float32))


def rehearsal_size(model: nn.Module) -> int:
    """Bytes that the random weights of a rehearsal take, and the buffers."""
    shapes = {parameter.shape for parameter in model.parameters() if parameter.ndim > 1}
    return sum(4 * shape.numel() for shape in shapes) + sum(b.nbytes for b in model.buffers())


@plain_torch()
def rehearsal(bare: Skeleton) -> nn.Module:
    """The same architecture, every block of it, with few weights: what it does can be tried.

    The weights are random, matrices of one shape are one and the same matrix, and the vocabulary
    has `VOCABULARY` tokens. Which token's state reaches which other's does not depend on any of
    these.
    """
    small = copy.deepcopy(bare.config)
    text = small.get_text_config()
    text.vocab_size = small.vocab_size = VOCABULARY
    for part in (text, small):
        for name in ("bos", "eos", "pad", "decoder_start"):
            setattr(part, f"{name}_token_id", 0)
    with quiet():
        model = _empty(bare.family, small)
    drawn: dict[torch.Size, Tensor] = {}
    generator = torch.Generator().manual_seed(0)
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                weight = _weight(name, parameter.shape, drawn, generator)
                module._parameters[name] = nn.Parameter(weight, requires_grad=False)
    return model.eval()


def stored_precision(source: Source, config: Any) -> str:
    """What a model's weights are stored in: by its files where they are here, or its config."""
    if source.kind == "gguf":
        return "GGUF, read as float32"
    with plain_errors(source):
        formats = list(stored_weights(source.folder, config))
    named = str(getattr(config, "dtype", None) or "unknown").removeprefix("torch.")
    return ", ".join(sorted(_FORMATS.get(name, name) for name in formats)) or named


def _weight(
    name: str, shape: torch.Size, drawn: dict[torch.Size, Tensor], generator: torch.Generator
) -> Tensor:
    if len(shape) < 2:  # a norm's scale, or a bias
        return torch.full(shape, float("weight" in name))
    if shape not in drawn:
        drawn[shape] = STD * torch.randn(shape, generator=generator)
    return drawn[shape]


def _empty(family: Any, config: Any) -> nn.Module:
    # Buffers are computed from the config, and a rehearsal needs them.
    with init_empty_weights(include_buffers=False):
        model: Any = family.from_config(config, dtype=torch.float32)
    model.tie_weights()  # one by one on their way to `meta`, tied weights came apart
    return model


def _config_place(source: Source) -> tuple[Path, dict[str, str]]:
    if source.kind == "hub":
        return hub.config(source.location, source.digest).parent, {}
    if not source.is_converted:
        file = Path(source.location)
        require_shipped(source)
        read_head(file)
        return file.parent, {"gguf_file": file.name}
    return source.converted, {}
