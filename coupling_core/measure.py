"""measure(request, store): from the store, or through the composition of the request's kind."""

import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from coupling_core import startup
from coupling_core.errors import ComputeError, CouplingError, InputError
from coupling_core.identity import identify
from coupling_core.records import Request
from coupling_core.results import Progress, Result
from coupling_core.scores import require_k
from coupling_core.store import Store
from coupling_core.tokens import count_tokens
from coupling_core.units import size

Report = Callable[[Progress], None]

REMEDY = "close other programs, shorten the prompt, or choose a smaller model or another device"
"""Where memory ran out and nothing better is known."""


def measure(
    request: Request,
    store: Store | None = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    fast: bool = True,
    progress: Report | None = None,
) -> Result:
    """Answer a request from the store, or compute the answer and store it.

    Args:
        request: what to measure.
        store: where results are kept; None keeps nothing.
        model: a module of your own in place of the one the request names, in any precision; it
            may be wrapped, by PEFT for one.
        tokenizer: its tokenizer; not needed where the prompt is token ids.
        device: where to compute; None takes CUDA where there is one.
        fast: differentiate by the fast ways where they give what the definition gives; else by the
            definition alone, over the whole sequence. The numbers are the same to rounding.
        progress: told at each step; an exception it raises stops the measurement.

    Returns:
        the result of the request's kind, such as a `DepthResult`.

    Raises:
        InputError: where the request cannot be met by this model.
        ComputeError: where the computing fails.
    """
    report = progress or (lambda _: None)
    if model is None:
        identity = identify(request)
    else:
        from coupling_core.models import describe

        identity = describe(model, hashed=store is not None)
    if store is not None and (found := find_stored(request, store, identity)):
        return found
    if store is not None:
        store.require_writable()
    try:
        result = _compute(request, identity, model, tokenizer, device, fast, report)
    except (MemoryError, RuntimeError) as error:
        from coupling_core.chunks import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        named = request if model is None else None
        raise ComputeError(_too_little_memory(error, named, device)) from error
    if model is None and identity["kind"] != "hub":  # the hub's commits never change
        _require_unchanged(request, identity)
    if store is not None:
        report(Progress("saving", 1, 1, result))
        result = replace(result, key=store.key(result.request, identity))
        store.put(result)
    return result


def find_stored(request: Request, store: Store, identity: dict[str, Any]) -> Result | None:
    """What the store has for a request, without computing or importing torch.

    Raises:
        InputError: where K exceeds the width of the stored result's model.
    """
    found = store.find(request, identity)
    if found is None and request.final_norm == "exclude":
        # A model without a final norm has one result for both conventions.
        other = store.find(replace(request, final_norm="include"), identity)
        found = other if other and not other.provenance.get("final_norm", True) else None
    if found is not None and found.k_max:
        require_k(found, request.k)
    return found


def _compute(
    request: Request,
    identity: dict[str, Any],
    model: Any,
    tokenizer: Any,
    device: str | None,
    fast: bool,
    report: Report,
) -> Result:
    report(Progress("loading"))
    with startup.importing(request if model is None else None):
        from coupling_core import hardware, measuring, models

    if model is not None:
        loaded = models.wrap(model, tokenizer)
    else:
        loaded = models.load(request, device, report)
    loaded = replace(loaded, fast=fast)
    start = time.perf_counter()
    with (
        hardware.threads_for(loaded.model),
        models.evaluating(loaded.model),
        models.in_float32(loaded.model, loaded.device),
    ):
        report(Progress("tracing"))
        result = measuring.compose(request, identity, loaded, report)
    cost = {
        "seconds": time.perf_counter() - start,
        "peak_memory_bytes": hardware.peak_memory(loaded.device),
    }
    return replace(result, provenance=dict(result.provenance) | cost)


def _require_unchanged(request: Request, identity: dict[str, Any]) -> None:
    """Refuse numbers of weights that may have been replaced while they were read."""
    try:
        changed = identify(request) != identity
    except InputError as error:
        raise ComputeError(f"the model went away while it was measured: {error}") from error
    if changed:
        raise ComputeError(
            f"the files of {request.model} changed while they were measured, and what came out "
            "belongs to neither the old ones nor the new: measure again"
        )


def _too_little_memory(error: Exception, request: Request | None, device: str | None) -> str:
    """What was needed, and what would fit where the request names its model."""
    from coupling_core.chunks import asked_bytes, relieve

    traceback.clear_frames(error.__traceback__)  # they hold what had been computed
    relieve()
    asked = asked_bytes(error)
    lead = "memory ran out while measuring" + f": {size(asked)} more were asked for" * bool(asked)
    if request is None:
        return f"{lead}; {REMEDY}"
    from coupling_core.memory import fit
    from coupling_core.probe import probe

    try:
        found = fit(request, probe(request, rehearse=False), count_tokens(request), device)
    except (CouplingError, MemoryError, RuntimeError):  # there is not even room to look
        return f"{lead}; {REMEDY}"
    remedy = REMEDY if found.memory.fits else found.remedy
    return (
        f"{lead}; about {size(found.memory.needed)} are needed in all, and "
        f"{size(found.memory.free)} may be used now: {remedy}"
    )
