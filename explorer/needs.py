"""What a measurement needs, found out before it runs: for the page that offers it, and the worker.

Both ask here, so that what the page promises is what the worker takes on.
"""

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from coupling_core.identity import locate
from coupling_core.records import Request
from coupling_core.tokens import count_tokens

if TYPE_CHECKING:
    from coupling_core.memory import Fit
    from coupling_core.probe import Probe

_CAUSAL = ("ForCausalLM", "LMHeadModel")


def model_of(request: Request) -> "Probe":
    """What the request's model is, read once.

    Raises:
        InputError: where the request names no model.
        ComputeError: where its config is missing, gated, out of reach, or cannot be read.
    """
    return _probe(request.model.strip(), request.revision, request.stack, locate(request).digest)


def memory(request: Request, device: str | None) -> "Fit":
    """The memory that a measurement takes on a device, held against what it may take there.

    Raises:
        InputError, ComputeError: as `model_of` does, or where there is no such device.
    """
    from coupling_core.memory import fit  # torch

    found = model_of(request)
    if found.causal is None and not found.architecture.endswith(_CAUSAL):
        found = replace(found, causal=False)  # the larger of the two estimates
    return fit(request, found, count_tokens(request), device)


def give_way(request: Request, device: str | None, needed: int) -> None:
    """Let other models go from memory where a measurement needs their place.

    Args:
        request: what is to be measured.
        device: where it computes; None is the best device.
        needed: bytes.
    """
    from coupling_core import hardware, models  # torch

    models.give_way(request, hardware.choose_device(device), needed)


@lru_cache(maxsize=100)
def _probe(model: str, revision: str | None, stack: Any, digest: str) -> "Probe":
    from coupling_core.probe import probe  # torch

    return probe(Request("-", model=model, revision=revision, stack=stack))
