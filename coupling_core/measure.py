"""measure(request, store): the one composition of the stages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.errors import ComputeError, InputError
from coupling_core.identity import identify
from coupling_core.records import DepthResult, Progress, Request
from coupling_core.scores import require_k
from coupling_core.store import Store

if TYPE_CHECKING:  # torch takes seconds to import, and a stored answer does not need it
    from coupling_core.coupling import Pairs
    from coupling_core.models import LoadedModel
    from coupling_core.trace import Trace

Report = Callable[[Progress], None]


def measure(
    request: Request,
    store: Store | None = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Report | None = None,
) -> DepthResult:
    """Answer a request from the store, or compute the answer and store it.

    Args:
        request: what to measure.
        store: where results are kept; None keeps nothing.
        model: a module of your own in place of the one the request names, in any precision; it
            may be wrapped, by PEFT for one.
        tokenizer: its tokenizer; not needed where the prompt is token ids.
        device: where to compute; None takes CUDA where there is one.
        progress: told at each step; an exception it raises stops the measurement.

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
    if store is not None:
        n = result.n_blocks
        report(Progress("saving", n, n, result))
        result = replace(result, key=store.key(result.request, identity))
        store.put(result)
    return result


def find_stored(request: Request, store: Store, identity: dict[str, Any]) -> DepthResult | None:
    """What the store has for a request, without computing or importing torch.

    Raises:
        InputError: where K exceeds the width of the stored result's model.
    """
    found = store.find(request, identity)
    if found is None and request.final_norm == "exclude":
        # A model without a final norm has one result for both conventions.
        other = store.find(replace(request, final_norm="include"), identity)
        found = other if other and not other.provenance.get("final_norm", True) else None
    if found is not None:
        require_k(found, request.k)
    return found


def _compute(
    request: Request,
    identity: dict[str, Any],
    model: Any,
    tokenizer: Any,
    device: str | None,
    report: Report,
) -> DepthResult:
    from coupling_core import hardware, models
    from coupling_core.jacobian import block_jacobian, check_derivative
    from coupling_core.svd import top_svd

    report(Progress("loading"))
    if model is not None:
        loaded = models.wrap(model, tokenizer)
    else:
        loaded = models.load(request, device, report)
    start = time.perf_counter()
    with models.evaluating(loaded.model), models.in_float32(loaded.model, loaded.device):
        report(Progress("tracing"))
        traced, pairs, so_far = _begin(request, identity, loaded)
        error = 0.0
        for block in traced.blocks:
            last = block.number == pairs.n_blocks
            norm = traced.kind.final_norm if last and request.final_norm == "include" else None
            jacobian = block_jacobian(block, norm)
            error = max(error, check_derivative(block, jacobian, norm))
            jacobian = jacobian.to(pairs.device)
            pairs.add(jacobian, top_svd(jacobian, pairs.k))
            so_far = replace(so_far, **pairs.arrays())
            report(Progress("blocks", block.number, pairs.n_blocks, so_far))
        angles = pairs.angles()
    cost = {
        "seconds": time.perf_counter() - start,
        "derivative_error": error,
        "peak_memory_bytes": hardware.peak_memory(loaded.device),
    }
    return replace(so_far, angles=angles, provenance=dict(so_far.provenance) | cost)


def _begin(
    request: Request, identity: dict[str, Any], loaded: "LoadedModel"
) -> tuple["Trace", "Pairs", DepthResult]:
    """Trace the prompt, and prepare what the blocks fill in."""
    from coupling_core.coupling import Pairs
    from coupling_core.hardware import algebra_device
    from coupling_core.trace import resolve_token, trace

    ids = loaded.encode(request.prompt)
    token = resolve_token(request.token, len(ids))
    kind = loaded.kinds.get(request.stack)
    traced = trace(loaded.model, ids, token, stack=request.stack, device=loaded.device, kind=kind)
    if len(ids) > 1:  # one token alone does not tell whether a stack is causal
        loaded.kinds[request.stack] = traced.kind
    n, d = len(traced.blocks), traced.blocks[0].state.numel()
    if request.k > d:
        raise InputError(f"K must lie in 1..{d} (the model's width), and {request.k} came")
    k = min(request.k_max, d)
    pairs = Pairs(n, d, k, min(request.corner, k), algebra_device(loaded.device))
    if traced.kind.final_norm is None:
        request = replace(request, final_norm="include")
    result = DepthResult(
        key="",
        request=request,
        identity=identity,
        tokens=loaded.texts(traced.token_ids),
        token_ids=np.array(traced.token_ids),
        token=token,
        width=d,
        next_tokens=loaded.likely(traced.logits),
        provenance=_provenance(loaded, traced),
        **pairs.arrays(),
    )
    return traced, pairs, result


def _provenance(loaded: "LoadedModel", traced: "Trace") -> dict[str, Any]:
    import torch

    from coupling_core import hardware

    return {
        "load_seconds": loaded.seconds,
        "device": hardware.device_name(loaded.device),
        "threads": torch.get_num_threads(),
        "weights": loaded.dtype,
        "dtype": "float32",
        "causal": traced.kind.causal,
        "final_norm": traced.kind.final_norm is not None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": hardware.versions(),
    }


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
