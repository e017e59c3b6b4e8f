"""What a checkpoint's weights are held in, and rounding them, but no constant beside them."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from accelerate import init_empty_weights
from safetensors import SafetensorError, safe_open

from coupling_core.base.errors import ComputeError
from coupling_core.base.reading import opened
from coupling_core.base.units import size

_BESIDE = ("BOOL", "I64", "I32", "U8")
"""Formats of masks and positions that some checkpoints hold beside their weights."""
_MAX_HEADER = 2**24
"""Bytes: some hundred thousand tensors, and no file of a model has ten thousand."""
STORED = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def stored_tensors(model: Any) -> Iterator[torch.Tensor]:
    """What checkpoints hold of a model: all but the buffers that it computes from its config."""
    yield from model.parameters()
    for module in model.modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in module._non_persistent_buffers_set:
                yield buffer


def round_to(tensors: Iterable[torch.Tensor], dtype: torch.dtype, held: torch.dtype) -> None:
    """Round tensors to one precision, and hold them in another."""
    for tensor in tensors:
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype).to(held)


def stored_weights(folder: Path, config: Any) -> Counter[str]:
    """Weights in the safetensors of a folder, by their format: F32, BF16, U8, ...

    Masks and positions are not counted; bytes are weights where the config says how to read them.
    """
    packed = ("U8",) if getattr(config, "quantization_config", None) else ()
    entries: Counter[str] = Counter()
    for file in sorted(folder.glob("[!.]*.safetensors")):
        _require_few(file)
        try:
            with safe_open(file, "pt") as weights:
                for name in weights.keys():
                    tensor = weights.get_slice(name)
                    if (form := tensor.get_dtype()) not in _BESIDE or form in packed:
                        entries[form] += math.prod(tensor.get_shape())
        except SafetensorError as error:
            raise ComputeError(
                f"{file} is damaged or cut short ({error}): delete it, and copy or download it anew"
            ) from error
    return entries


def _require_few(file: Path) -> None:
    """Refuse a header that names more tensors than would be read in a minute."""
    with opened(file) as weights:
        length = int.from_bytes(weights.read(8), "little")
        if _MAX_HEADER < length <= os.fstat(weights.fileno()).st_size:
            raise ComputeError(
                f"{file} has a header of {size(length)}, and at most {size(_MAX_HEADER)} are read: "
                "it names more tensors than any model has"
            )


def precision_of(entries: Counter[str]) -> torch.dtype:
    """That which holds all of some stored weights without loss."""
    one = STORED.get(next(iter(entries))) if len(entries) == 1 else None
    return one or torch.float32


def restore_buffers(model: Any, family: Any) -> None:
    """Give a model held in lower precision the float32 buffers that no checkpoint stores."""
    with init_empty_weights(include_buffers=False):
        twin = family.from_config(model.config, dtype=torch.float32)
    for path, module in twin.named_modules():
        for name in module._non_persistent_buffers_set:
            model.get_submodule(path)._buffers[name] = module._buffers[name]
