"""What a measurement needs, found out before it runs: for the page that offers it, and the worker.

Both ask here, so that what the page promises is what the worker takes on.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from coupling_core.identity import locate
from coupling_core.records import Request
from coupling_core.store import Entry
from coupling_core.tokens import count_tokens
from explorer.estimate import Estimate, estimate

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

    return fit(request, _larger(model_of(request)), count_tokens(request), device)


def seconds(request: Request, device: str | None, entries: Iterable[Entry]) -> Estimate | None:
    """How long a measurement takes: by earlier ones of this model, else by the model's shape.

    Args:
        request: what would be measured.
        device: where it computes; None is the best device.
        entries: what is stored.

    Returns:
        None where there was none, and the device is no CPU.

    Raises:
        InputError, ComputeError: as `memory` does.
    """
    n = count_tokens(request)
    known = estimate(locate(request).digest, request, n, entries)
    if known is not None:
        return known
    from coupling_core import cost, hardware  # torch

    found = _larger(model_of(request))
    if hardware.choose_device(device).type != "cpu" or not (found.blocks and found.width):
        return None
    return Estimate(cost.predict_seconds(request, found, n, cost.machine_rate()))


def shorter(request: Request, longest: float) -> str:
    """What of a request that takes too long would not, in words; by the model's shape."""
    from coupling_core import cost  # torch

    found, n = _larger(model_of(request)), count_tokens(request)
    changes, fewer = cost.shorter(request, found, n, cost.machine_rate(), longest)
    if changes:
        return f"it would do with K = {changes['k']}"
    if fewer:
        return f"a prompt of at most {fewer} tokens would do"
    return "choose a smaller model"


def give_way(request: Request, device: str | None, needed: int) -> None:
    """Let other models go from memory where a measurement needs their place.

    Args:
        request: what is to be measured.
        device: where it computes; None is the best device.
        needed: bytes.
    """
    from coupling_core import hardware, models  # torch

    models.give_way(request, hardware.choose_device(device), needed)


def _larger(found: "Probe") -> "Probe":
    """Of a model that may be causal or not, the one that takes more."""
    is_known = found.causal is not None or found.architecture.endswith(_CAUSAL)
    return found if is_known else replace(found, causal=False)


@lru_cache(maxsize=100)
def _probe(model: str, revision: str | None, stack: Any, digest: str) -> "Probe":
    from coupling_core.probe import probe  # torch

    return probe(Request("-", model=model, revision=revision, stack=stack))
