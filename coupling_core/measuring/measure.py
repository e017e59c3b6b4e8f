"""measure(request, store): from the store, or through the composition of the request's kind."""

import logging
import re
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from coupling_core.base.errors import ComputeError, CouplingError, InputError
from coupling_core.base.jacobian import BlockJacobian
from coupling_core.base.kinds import kind_of
from coupling_core.base.memory import asked_bytes, is_out_of_memory
from coupling_core.base.records import Request
from coupling_core.base.results import Progress, Result
from coupling_core.base.units import size
from coupling_core.measuring import deaths, startup
from coupling_core.measuring.alone import alone
from coupling_core.sources.identity import Source, digest_now, identity_of
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store

Report = Callable[[Progress], None]
_log = logging.getLogger(__name__)

DEVICE = re.compile(r"(cpu|cuda|mps)(:\d+)?")
"""Names of devices that there may be, on this machine or another."""
REMEDY = "close other programs, shorten the prompt, or choose a smaller model or another device"
"""Where memory ran out and nothing better is known."""


def measure(
    request: Request,
    store: Store | None = None,
    *,
    model: Any = None,
    tokenizer: Any = None,
    variant: str = "",
    device: str | None = None,
    fast: bool = True,
    progress: Report | None = None,
) -> Result:
    """Answer a request from the store, or compute the answer and store it.

    A module that runs code of your own (a hook, a patched forward, a class of a notebook) is known
    by no key: its result is neither looked for nor stored, says so in its provenance where there is
    a store (`not_stored`), and has no key, unless `variant` names what it is.

    Args:
        request: what to measure.
        store: where results are kept; None keeps nothing.
        model: a module of your own, measured as it is, in any precision; it may be wrapped, by PEFT
            for one. The request then names no model, and asks for no change of one.
        tokenizer: its tokenizer; not needed where the prompt is token ids.
        variant: what you did to your module, such as "MLP 3 ablated"; another text, another key.
        device: where to compute; None takes CUDA where there is one.
        fast: differentiate by the fast ways where they give what the definition gives; else by the
            definition alone, over the whole sequence, as it is done in any case with a model that
            has ended a process (see `deaths`). The numbers are the same to rounding; a stored
            result answers then only if it was had so too.
        progress: told at each step; an exception it raises stops the measurement.

    Returns:
        the result of the request's kind, such as a `DepthResult`.

    Raises:
        InputError: where the request cannot be met by this model.
        ComputeError: where the computing fails.
    """
    if model is None:
        _require_module(request.model, tokenizer, variant)
        return answer(resolve(request), store, device=device, fast=fast, progress=progress)
    from coupling_core.engine import loading

    request = loading.request_of(request, model, variant)
    own = loading.as_loaded(model, tokenizer)
    identity, unkeyed = loading.describe(own, request, variant, hashed=store is not None)
    asked, keeping = Resolved(request, identity, None), None if unkeyed else store
    result = answer(asked, keeping, own=own, device=device, fast=fast, progress=progress)
    if not unkeyed:
        return result
    return _not_stored(
        result,
        f"code of your own runs in the module, which no key tells from other code: {unkeyed}. "
        'To store it, name what you did: measure(..., variant="...")',
    )


def asked_of(request: Request, model: Any, tokenizer: Any) -> tuple[Resolved, Any]:
    """A request with its model found, and the module of one's own loaded; None where none came.

    Of such a module nothing is hashed, since nothing is stored.
    """
    if model is None:
        _require_module(request.model, tokenizer, "")
        return resolve(request), None
    from coupling_core.engine import loading

    request, own = loading.request_of(request, model), loading.as_loaded(model, tokenizer)
    identity, _ = loading.describe(own, request, hashed=False)
    return Resolved(request, identity, None), own


def answer(
    asked: Resolved,
    store: Store | None = None,
    *,
    own: Any = None,
    device: str | None = None,
    fast: bool = True,
    progress: Report | None = None,
) -> Result:
    """Answer a request whose model is found; the rest is as `measure` has it."""
    report = progress or (lambda _: None)
    if device is not None and not DEVICE.fullmatch(device):  # a stored answer needs none
        raise InputError(f"device {device!r} is unknown: expected cpu, cuda, cuda:0 or mps")
    if store is not None:
        found = find_stored(asked, store, fast=fast)
        if found:
            return found
        store.require_writable()
    why_not = deaths.reason(asked) if own is None else ""
    fast = fast and not why_not
    with _memory_watched(asked, device):
        result = _compute(asked, own, device, fast, report)
    if asked.source and asked.source.kind == "hub":
        # Its commits never change, but the config may have come with the weights, and tells more.
        result = replace(result, identity=identity_of(asked.source, asked.request))
    _require_unchanged(asked.source)
    if not fast:
        told = {"fast": False, "why_not_fast": why_not or "that was asked for"}
        result = replace(result, provenance=dict(result.provenance) | told)
    return result if store is None else _put(result, store, report)


def jacobian_of(
    asked: Resolved,
    block: int,
    *,
    own: Any = None,
    device: str | None = None,
    fast: bool = True,
    progress: Report | None = None,
) -> BlockJacobian:
    """One block's Jacobian of a depth-wise request; the rest is as `answer` has it."""
    with aside(asked, own=own, device=device, fast=fast, progress=progress) as ready:
        found = ready.composition.one_block(asked, ready.loaded, block)
        return replace(found, derivative_error=ready.notes.derivative_error)


def find_stored(asked: Resolved, store: Store, *, fast: bool = True) -> Result | None:
    """What the store has for a request, without computing or importing torch."""
    request, identity = asked.request, asked.identity
    found = store.find(request, identity)
    if found is None and request.final_norm == "exclude":
        # A model without a final norm has one result for both conventions.
        other = store.find(replace(request, final_norm="include"), identity)
        found = other if other and not other.provenance.get("final_norm", True) else None
    if found and (found.is_doubtful or (not fast and found.provenance.get("fast", True))):
        return None
    if found is None:
        return None
    if found.k_max and request.k is not None:
        request.k_of(found.width)
    if identity["kind"] not in ("folder", "gguf"):
        return found
    # Of two copies of one model, the answer has the name of the one that is asked for.
    named = dict(found.identity) | {"name": identity["name"]}
    return replace(found, request=replace(found.request, model=request.model), identity=named)


def _compute(
    asked: Resolved,
    own: Any,
    device: str | None,
    fast: bool,
    report: Report,
) -> Result:
    with _ready(asked, own, device, fast, report) as ready:
        result = ready.composition.compose(asked, ready.loaded, report)
    from coupling_core.engine import hardware

    cost: dict[str, Any] = {
        "derivative_error": ready.notes.derivative_error,
        "ways": {
            way: {str(block): count for block, count in sorted(by_block.items())}
            for way, by_block in ready.notes.ways.items()
        },
        "seconds": time.perf_counter() - ready.start,
        "peak_memory_bytes": hardware.peak_memory(ready.loaded.device),
    }
    if (foreign := ready.loaded.foreign) and not own:
        cost["not_stored"] = f"the program that measured changes what models compute: {foreign}"
    return replace(result, provenance=dict(result.provenance) | cost)


@dataclass(frozen=True)
class Ready:
    """A model that is about to be measured: its kind's composition, and what is noted meanwhile."""

    loaded: Any
    composition: Any
    notes: Any
    start: float


@contextmanager
def _ready(
    asked: Resolved, own: Any, device: str | None, fast: bool, report: Report
) -> Iterator[Ready]:
    report(Progress("loading"))
    with startup.importing(None if own else asked):
        from coupling_core.engine import hardware, loading, ways_taken

        composition = kind_of(asked.request.kind).part("compose")
    if own and device is not None:
        require_device(own.device, device)
    loaded = own or loading.load(asked, device, report)
    with alone(report):
        # Even a model that is named runs what somebody put into its classes, or hooked onto it.
        foreign = loading.own_code(loaded.model)
        loaded = replace(loaded, fast=fast, foreign=foreign)
        start = time.perf_counter()
        with (
            hardware.threads_for(loaded.model),
            loading.evaluating(loaded.model),
            loading.in_float32(loaded.model, loaded.device),
        ):
            report(Progress("tracing"))
            with ways_taken.noting() as notes:
                yield Ready(loaded, composition, notes, start)
    loading.require_unwritten(asked, loaded)


@contextmanager
def aside(
    asked: Resolved,
    *,
    own: Any = None,
    device: str | None = None,
    fast: bool = True,
    progress: Report | None = None,
) -> Iterator[Ready]:
    """A model ready to be measured, for what is looked at beside measurements and not kept."""
    report = progress or (lambda _: None)
    fast = fast and not (own is None and deaths.reason(asked))
    with _memory_watched(asked, device), _ready(asked, own, device, fast, report) as ready:
        yield ready
    _require_unchanged(asked.source)


@contextmanager
def _memory_watched(asked: Resolved, device: str | None) -> Iterator[None]:
    """Say in plain words that memory ran out."""
    try:
        yield
    except Exception as error:  # where memory runs out, libraries raise whatever they like
        if isinstance(error, CouplingError) or not is_out_of_memory(error):
            raise
        raise ComputeError(_too_little_memory(error, asked, device)) from error


def _put(result: Result, store: Store, report: Report) -> Result:
    """Store a result; where code that no key tells ran in the model, say why it is not."""
    if "not_stored" in result.provenance:
        return _not_stored(result, result.provenance["not_stored"])
    report(Progress("saving", 1, 1, result))
    result = replace(result, key=store.key(result.request, result.identity))
    store.put(result)
    return result


def _not_stored(result: Result, why: str) -> Result:
    """The result, which says why it is not stored."""
    _log.warning("the result is not stored: %s", why)
    return replace(result, provenance=dict(result.provenance) | {"not_stored": why})


def require_device(at: Any, name: str) -> None:
    """Refuse another device than the one that a module of one's own is on: nothing moves it."""
    from coupling_core.engine import hardware

    wanted = hardware.choose_device(name)
    if (at.type, at.index or 0) != (wanted.type, wanted.index or 0):
        raise InputError(
            f"device {name!r} was asked for, and the module is on {at}: move it there yourself, "
            f"module.to({name!r}), or leave the device out"
        )


def _require_module(name: str, tokenizer: Any, variant: str) -> None:
    """Refuse what belongs to a module of one's own where none came."""
    given = ["tokenizer"] * (tokenizer is not None) + ["variant"] * bool(variant)
    if given:
        raise InputError(
            f"{' and '.join(given)} came with the name of a model, {name!r}: pass the module that "
            "it belongs to, or leave it out (a folder has its tokenizer in it, as "
            "tokenizer.save_pretrained(folder) writes it)"
        )


def _require_unchanged(source: Source | None) -> None:
    """Refuse numbers of weights that may have been replaced while they were read.

    Only a folder's may: a commit never changes, and of a GGUF file its conversion was read.
    """
    if source is None or source.kind != "folder":
        return
    try:
        changed = digest_now(source) != source.digest
    except InputError as error:
        raise ComputeError(f"the model went away while it was measured: {error}") from error
    if changed:
        raise ComputeError(
            f"the files of {source.location} changed while they were measured, and what came out "
            "belongs to neither the old ones nor the new: measure again"
        )


def _too_little_memory(error: Exception, asked: Resolved, device: str | None) -> str:
    """What was needed, and what would fit where the request names its model."""
    from coupling_core.engine.out_of_memory import relieve

    traceback.clear_frames(error.__traceback__)  # they hold what had been computed
    relieve()
    more = asked_bytes(error)
    lead = "memory ran out while measuring" + f": {size(more)} more were asked for" * bool(more)
    if asked.source is None:
        return f"{lead}; {REMEDY}"
    from coupling_core.measuring.memory import fit
    from coupling_core.measuring.probe import probe

    try:
        found = fit(asked.request, probe(asked, rehearse=False), asked.n_tokens, device)
    except (CouplingError, MemoryError, RuntimeError):  # there is not even room to look
        return f"{lead}; {REMEDY}"
    remedy = REMEDY if found.memory.fits else found.remedy
    return (
        f"{lead}; about {size(found.memory.needed)} are needed in all, and "
        f"{size(found.memory.free)} may be used now: {remedy}"
    )
