"""What every composition says of how a result was made."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from coupling_core import hardware, products
from coupling_core.decode import Reader, read
from coupling_core.errors import InputError
from coupling_core.kind import Kind
from coupling_core.models import LoadedModel
from coupling_core.passport import Passport, Sketch, plain, sketch
from coupling_core.records import Request
from coupling_core.results import Progress

Report = Callable[[Progress], None]


def reading(request: Request, loaded: LoadedModel, reads: list[int] | Tensor) -> Reader:
    """The model with the prompt that it reads; of what kind it is, is found out once."""
    stack = request.stack
    known = loaded.kinds.get(stack)
    reader = read(
        loaded.model, reads, stack=stack, device=loaded.device, kind=known, fast=loaded.fast
    )
    if len(reads) > 1 or not reader.runner.reads_tokens:  # one token alone does not tell
        loaded.kinds[stack] = reader.kind
    return reader


def provenance(loaded: LoadedModel, kind: Kind) -> dict[str, Any]:
    """What is known before the computing begins."""
    return {
        "load_seconds": loaded.seconds,
        "device": hardware.device_name(loaded.device),
        "threads": torch.get_num_threads(),
        "weights": loaded.dtype,
        "parameters": loaded.parameters,
        "dtype": "float32",
        "causal": kind.causal,
        "final_norm": kind.final_norm is not None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": hardware.versions(),
    }


def passport(
    loaded: LoadedModel,
    states: Float[Tensor, "token d"],
    logits: Float[Tensor, " vocabulary"] | None,
) -> dict[str, Any]:
    """What the model itself computed, as the provenance has it.

    Args:
        loaded: the model.
        states: its final states, of one token or more.
        logits: those of the measured token; None where there are none.
    """
    config = loaded.model.config.get_text_config()
    has_experts = any(name.endswith("experts") for name, _ in loaded.model.named_modules())
    made = Passport(
        states=_sketch(states),
        logits=None if logits is None else _sketch(logits),
        attention=getattr(config, "_attn_implementation", None) or "",
        experts=(has_experts and getattr(config, "_experts_implementation", None)) or "",
        instructions=hardware.instructions(),
        products=products.library(),
    )
    return {"passport": plain(made)}


def _sketch(tensor: Tensor) -> Sketch:
    return sketch(tensor.detach().to("cpu", torch.float32).numpy())


def canonical(request: Request, kind: Kind) -> Request:
    """The request as it is stored: where there is no final norm, both conventions have one key."""
    return request if kind.final_norm is not None else replace(request, final_norm="include")


def kept_k(request: Request, width: int) -> int:
    """How many triplets are measured.

    Raises:
        InputError: where K exceeds the model's width.
    """
    if request.k > width:
        raise InputError(f"K must lie in 1..{width} (the model's width), and {request.k} came")
    return min(request.k_max, width)
