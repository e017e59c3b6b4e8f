"""measure(request, store): from the store, or through the composition of the request's kind."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from coupling_core.errors import ComputeError, InputError
from coupling_core.identity import identify
from coupling_core.records import Request
from coupling_core.results import Progress, Result
from coupling_core.scores import require_k
from coupling_core.store import Store

Report = Callable[[Progress], None]


def measure(
    request: Request,
    store: Store | None = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
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
    with _plain_failures():
        result = _compute(request, identity, model, tokenizer, device, report)
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
    report: Report,
) -> Result:
    from coupling_core import hardware, measuring, models

    report(Progress("loading"))
    if model is not None:
        loaded = models.wrap(model, tokenizer)
    else:
        loaded = models.load(request, device, report)
    start = time.perf_counter()
    with models.evaluating(loaded.model), models.in_float32(loaded.model, loaded.device):
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


@contextmanager
def _plain_failures() -> Iterator[None]:
    """Say in plain words that memory ran out."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        raise ComputeError(
            "memory ran out while measuring: close other programs, shorten the prompt, or choose "
            "a smaller model or another device"
        ) from error
