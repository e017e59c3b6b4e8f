"""A model of the user's own, already in memory."""

import hashlib
from typing import Any

import torch
from torch import nn

from coupling_core.models.loaded import LoadedModel


def wrap(model: nn.Module, tokenizer: Any) -> LoadedModel:
    """Take a model of the user's own, in any precision, quantised by bitsandbytes or not."""
    dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
    shown = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
    return LoadedModel(model, tokenizer, next(model.parameters()).device, dtype=shown)


def describe(model: nn.Module, hashed: bool) -> dict[str, Any]:
    """Identity of a model of the user's own: its class and, if `hashed`, its weights' sha256."""
    identity = {"kind": "object", "name": type(model).__name__, "digest": ""}
    if hashed:
        digest = hashlib.sha256(repr(model).encode())
        for name, tensor in sorted(model.state_dict().items()):
            if isinstance(tensor, torch.Tensor):
                digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
                content = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
                digest.update(content.numpy().data)
            else:
                digest.update(f"{name} {tensor!r}".encode())
        identity["digest"] = digest.hexdigest()
    return identity
