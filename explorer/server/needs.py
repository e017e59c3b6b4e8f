"""What a measurement needs, found out before it runs: for the page that offers it, and the worker.

Both ask here, so that what the page promises is what the worker takes on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from coupling_core.base.records import Request
from coupling_core.base.units import counted
from coupling_core.measuring import deaths
from coupling_core.measuring.forecast import Fit, Probe
from coupling_core.sources.identity import Source
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Entry
from explorer.server.engine import ask
from explorer.server.estimate import Estimate, earlier, estimate

_CAUSAL = ("ForCausalLM", "LMHeadModel")


def model_of(asked: Resolved) -> Probe:
    """What the request's model is, read once."""
    request = asked.request
    plain = Request("-", model=request.model, revision=request.revision, stack=request.stack)
    return _probe(plain, asked.files)


def memory(asked: Resolved, device: str | None) -> Fit:
    """The memory that a measurement takes on a device, held against what it may take there."""
    found: Fit = ask(_fit, asked, _larger(model_of(asked)), device)
    return found


def seconds(asked: Resolved, device: str | None, entries: Iterable[Entry]) -> Estimate | None:
    """How long a measurement takes, by the model's shape and by earlier ones.

    None where no earlier one is known, and the device is no CPU, or the sort not fitted.
    """
    found = seconds_of_each((asked,), device, entries)
    return found[0] if found else None


def seconds_of_each(
    asked: Sequence[Resolved], device: str | None, entries: Iterable[Entry]
) -> list[Estimate]:
    """The same of requests that differ in their prompts alone; none where it is not known."""
    first = asked[0]
    model = _larger(model_of(first))
    if not (model.blocks and model.width):
        return []
    found = earlier(first.files.digest, first.request, entries)
    before = [(entry.request, len(entry.tokens) or first.n_tokens) for entry in found]
    prompts = [*((one.request, one.n_tokens) for one in asked), *before]
    shapes, in_seconds = ask(_seconds, prompts, model, device)
    n = len(asked)
    each = (estimate(found, shape, shapes[n:], in_seconds=in_seconds) for shape in shapes[:n])
    return [one for one in each if one]


def shorter(asked: Resolved, longest: float) -> str:
    """What of a request that takes too long would not, in words; by the model's shape."""
    changes, fewer = ask(_shorter, asked.request, _larger(model_of(asked)), asked.n_tokens, longest)
    if changes:
        return f"it would do with K = {changes['k']}"
    if fewer:
        return f"a prompt of at most {counted(fewer, 'token')} would do"
    return "choose a smaller model"


def give_way(asked: Resolved, device: str | None, needed: int) -> None:
    """Let other models go from memory where a measurement needs their place."""
    ask(_give_way, asked, device, needed)


@cache
def devices() -> list[str]:
    """Names of the devices of this machine, the best one first."""
    found: list[str] = ask(_devices)
    return found


def _larger(found: Probe) -> Probe:
    """Of a model that may be causal or not, the one that takes more."""
    is_known = found.causal is not None or found.architecture.endswith(_CAUSAL)
    return found if is_known else replace(found, causal=False)


@lru_cache(maxsize=100)
def _probe(request: Request, source: Source) -> Probe:
    found: Probe = ask(_look, resolve(request, source), about=request)
    return found


# ---- what runs in the worker, which has torch


def _look(asked: Resolved) -> Probe:
    from coupling_core.measuring.probe import probe

    # One that ended the process is not run again: its config tells the most.
    return probe(asked, rehearse=not deaths.reason(asked))


def _fit(asked: Resolved, found: Probe, device: str | None) -> Fit:
    from coupling_core.measuring.memory import fit

    return fit(asked.request, found, asked.n_tokens, device)


def _seconds(
    prompts: list[tuple[Request, int]], found: Probe, device: str | None
) -> tuple[list[float], bool]:
    """By the shape of each request with its prompt's length; and whether these are seconds.

    On other devices than a CPU, and of a sort that was not fitted, they tell ratios alone.
    """
    from coupling_core.engine import hardware
    from coupling_core.measuring import cost

    rates = cost.machine_rates()
    shapes = [cost.predict_seconds(request, found, n, rates) for request, n in prompts]
    seconds = [each for each in shapes if each is not None]
    if len(seconds) == len(shapes):
        return seconds, hardware.choose_device(device).type == "cpu"
    return [cost.operations(request, found, n) for request, n in prompts], False


def _shorter(
    request: Request, found: Probe, tokens: int, longest: float
) -> tuple[dict[str, Any], int]:
    from coupling_core.measuring import cost

    return cost.shorter(request, found, tokens, cost.machine_rates(), longest)


def _give_way(asked: Resolved, device: str | None, needed: int) -> None:
    from coupling_core.engine import hardware, loading

    loading.give_way(asked, hardware.choose_device(device), needed)


def _devices() -> list[str]:
    from coupling_core.engine import hardware

    return hardware.devices()
