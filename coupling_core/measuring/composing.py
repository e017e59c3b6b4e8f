"""What the composition of any kind begins with, and says of how a result was made."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import DEFAULT_K, Request, Stack
from coupling_core.base.results import Result
from coupling_core.base.results.base import array_dims
from coupling_core.engine import hardware, matrix_products
from coupling_core.engine.jacobians.decode import Reader, read
from coupling_core.engine.jacobians.stack_properties import known_kinds
from coupling_core.engine.jacobians.true_float64 import has_experts
from coupling_core.engine.loading import LoadedModel
from coupling_core.engine.passport import Passport, Sketch, plain, sketch
from coupling_core.engine.side_by_side import SideBySide, go_side_by_side
from coupling_core.measuring import memory
from coupling_core.measuring.probe import seen
from coupling_core.sources.resolved import Resolved

R = TypeVar("R", bound=Result)


def begin(asked: Resolved, loaded: LoadedModel) -> tuple[Reader, dict[str, Any]]:
    """The model with the prompt that it reads, and the fields that a result of any kind has."""
    reads = loaded.encode(asked.request.prompt)
    reader = _reading(asked.request.stack, loaded, reads)
    return reader, {
        "key": "",
        "request": _canonical(asked.request, reader),
        "identity": asked.identity,
        "tokens": loaded.token_names(reads, reader.token_ids),
        "token_ids": np.array(reader.token_ids),
        "width": reader.width,
        "provenance": _provenance(loaded, reader),
    }


def forward(request: Request, loaded: LoadedModel) -> tuple[list[int], dict[str, Any]]:
    """What the model reads of a prompt, and the provenance that a result of it would begin with."""
    reader = _reading(request.stack, loaded, loaded.encode(request.prompt))
    return reader.token_ids, _provenance(loaded, reader)


def side_by_side(request: Request, loaded: LoadedModel, reader: Reader) -> SideBySide:
    """Workers for a model's blocks: one a core, as far as there are blocks and memory for.

    Where there are fewer of them, each has several cores.
    """
    if not go_side_by_side(loaded, reader.runner.blocks):
        return SideBySide()
    cores, free = hardware.threads(), hardware.usable_memory(loaded.device)
    found = seen(request, loaded, reader)
    workers = memory.workers(request, found, reader.n_tokens, free, cores)
    return SideBySide(workers, cores // workers)


def _reading(stack: Stack | None, loaded: LoadedModel, reads: list[int] | Tensor) -> Reader:
    """Of what kind the stack is, is found out once, unless somebody may change the model."""
    known = {} if loaded.own else known_kinds(loaded.model)
    kind = known.get(stack)
    reader = read(
        loaded.model, reads, stack=stack, device=loaded.device, kind=kind, fast=loaded.fast
    )
    if len(reads) > 1 or not reader.runner.reads_tokens:  # one token alone does not tell
        known[stack] = reader.kind
    return reader


def _provenance(loaded: LoadedModel, reader: Reader) -> dict[str, Any]:
    """What is known before any Jacobian is taken."""
    return {
        "load_seconds": loaded.seconds,
        "device": hardware.device_name(loaded.device),
        "threads": torch.get_num_threads(),
        "weights": loaded.dtype,
        "parameters": loaded.parameters,
        "dtype": "float32",
        "causal": reader.kind.causal,
        "final_norm": reader.kind.final_norm is not None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": hardware.versions(),
        "passport": plain(_passport(loaded, reader)),
    }


def _passport(loaded: LoadedModel, reader: Reader) -> Passport:
    run, config = reader.run, loaded.model.config.get_text_config()
    logits = run.logits if run.logits is None or run.logits.ndim < 3 else run.logits[:, -1]
    return Passport(
        states=_sketch(run.calls[-1].output[0]),
        logits=None if logits is None else _sketch(logits[0]),
        attention=getattr(config, "_attn_implementation", None) or "",
        experts=(has_experts(loaded.model) and getattr(config, "_experts_implementation", None))
        or "",
        instructions=hardware.instructions(),
        products=matrix_products.library(),
    )


def _sketch(tensor: Tensor) -> Sketch:
    return sketch(tensor.detach().to("cpu", torch.float32).numpy())


def _canonical(request: Request, reader: Reader) -> Request:
    """The request as it is stored: with its K, and with one key for both conventions of the norm.

    Where there is no final norm, they are one.
    """
    if kind_of(request.kind).has_k:
        request = replace(request, k=request.k_of(reader.width))
    if reader.kind.final_norm is None:
        request = replace(request, final_norm="include")
    return request


def nothing(of: type[Result], dtype: Any = float, **lengths: int) -> dict[str, Any]:
    """NaN in place of the arrays of a result over these dimensions, before anything is measured."""
    return {
        name: np.full([lengths[dim] for dim in dims], np.nan, dtype)
        for name, dims in array_dims(of).items()
        if lengths.keys() >= {*dims}
    }


def with_part(so_far: R, at: Any, numbers: Mapping[str, Any]) -> R:
    """A result with further numbers at a place of its arrays; the old one may still be drawn."""
    changed: dict[str, Any] = {name: getattr(so_far, name).copy() for name in numbers}
    for name, values in numbers.items():
        changed[name][at] = values
    return replace(so_far, **changed)


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A tensor as a float32 array."""
    return tensor.detach().to("cpu", torch.float32).numpy()


def kept_k(request: Request, width: int) -> int:
    """How many triplets are measured."""
    return max(request.k_of(width), min(DEFAULT_K, width))
