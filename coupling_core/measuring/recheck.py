"""recheck(result): does the model still compute what a result rests on?

Only the forward pass is run, under the libraries of today, and its passport held against that of
the result (see `coupling_core.engine.passport`). The result itself stays as it is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from coupling_core.base.errors import ComputeError, CouplingError
from coupling_core.base.folders import expanded
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.engine.passport import ROUNDING, Passport, change, is_same, passport_of
from coupling_core.measuring import startup
from coupling_core.measuring.measure import REMEDY, Report
from coupling_core.sources import hub
from coupling_core.sources.identity import Source
from coupling_core.sources.resolved import resolve

NAMED = ("gguf", "folder", "hub")
"""Kinds of models that are found again by what was asked for."""

OLDER = "it was made before passports and cannot be compared; measure it again"
OWN = "it was measured of a module of your own, which no name leads to; give it to `recheck`"
NOTHING = "nothing that is known of: neither its model, nor the libraries, nor the processor"

_DIGITS = 12
"""Of a hash."""
_BY = {
    "attention": "attention",
    "experts": "experts",
    "instructions": "instructions",
    "products": "library of products",
}


@dataclass(frozen=True)
class Recheck:
    """What a recheck found.

    Args:
        key: of the result.
        verdict: "unchanged" to the bit or to rounding; "changed"; "unknown" where it cannot be
            told.
        change: by which part of its norm that has changed which the model gives, estimated to about
            an eighth; 0 where no bit has, None where it is unknown.
        others: what is known to be another than it was, such as "transformers 5.20.0 -> 5.23.0".
        why: it is unknown; "" where it is not.
    """

    key: str
    verdict: Literal["unchanged", "changed", "unknown"]
    change: float | None = None
    others: tuple[str, ...] = ()
    why: str = ""

    @property
    def words(self) -> str:
        """The verdict as a phrase."""
        if self.change is None:
            return f"unknown: {self.why}"
        others = "; ".join(self.others)
        if self.verdict == "changed":
            return f"changed by {self.change:.1e}, since {others or NOTHING}"
        how = f"rounding ({self.change:.1e})" if self.change else "the bit"
        return f"unchanged to {how}" + f", although {others}" * bool(others)


def recheck(
    result: Result,
    *,
    model: Any = None,
    tokenizer: Any = None,
    device: str | None = None,
    progress: Report | None = None,
) -> Recheck:
    """Run a result's prompt through its model once more, and compare what comes out.

    Of a model of the hub that very commit is taken which was measured.

    Args:
        result: of any kind.
        model: the module of your own that it was measured of; None is the model that it names.
        tokenizer: its tokenizer.
        device: where to compute; None takes CUDA where there is one.
        progress: told while a model is fetched; an exception it raises stops the recheck.

    Returns:
        what was found. What cannot be compared raises nothing: the reason is told.
    """
    try:
        before = passport_of(result.provenance)
        if before is None:
            return Recheck(result.key, "unknown", why=OLDER)
        if model is None and result.identity["kind"] not in NAMED:
            return Recheck(result.key, "unknown", why=OWN)
        ids, identity, made = _again(result, model, tokenizer, device, progress)
    except CouplingError as error:
        return Recheck(result.key, "unknown", why=_elsewhere(result) or str(error))
    now = passport_of(made)
    assert now is not None  # it was made just now
    another = ", ".join(_others(_named(result.identity), _named(identity)))
    others = (
        *[f"the model there is not the one that was measured ({another})"][: bool(another)],
        *["its prompt is read as other tokens"][: ids != result.token_ids.tolist()],
        *_others(_made_by(result.provenance, before), _made_by(made, now)),
    )
    apart = 0.0 if is_same(before, now) else change(before, now)
    verdict: Any = "unchanged" if apart <= ROUNDING else "changed"
    return Recheck(result.key, verdict, apart, others)


def _again(
    result: Result, model: Any, tokenizer: Any, device: str | None, progress: Report | None
) -> tuple[list[int], Mapping[str, Any], dict[str, Any]]:
    """What the model reads now, who it is, and the provenance of what it gives."""
    request = _of_that_commit(result)
    asked = resolve(request) if model is None else None
    if asked:
        _require_here(asked.files)
    with startup.importing(asked):
        from coupling_core.engine import hardware, loading
        from coupling_core.measuring.composing import forward

    try:
        if asked:
            loaded, identity = loading.load(asked, device, progress), asked.identity
        else:
            loaded = loading.as_loaded(model, tokenizer)
            variant, hashed = result.identity.get("variant", ""), bool(result.identity["digest"])
            identity, _ = loading.describe(loaded, request, variant, hashed=hashed)
        loaded = replace(loaded, fast=result.provenance.get("fast", True))
        with (
            hardware.threads_for(loaded.model),
            loading.evaluating(loaded.model),
            loading.in_float32(loaded.model, loaded.device),
        ):
            ids, made = forward(request, loaded)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise ComputeError(f"memory ran out while it was rechecked: {REMEDY}") from error
    return ids, identity, made


def _of_that_commit(result: Result) -> Request:
    request = result.request
    if result.identity["kind"] != "hub":
        return request
    return replace(request, revision=result.identity["digest"])


def _elsewhere(result: Result) -> str:
    """Why a model is not found that was named relative to a folder; "" of any other."""
    path = expanded(result.request.model)
    if result.identity["kind"] not in ("gguf", "folder") or path.is_absolute() or path.exists():
        return ""
    return (
        f"its model was given as {str(path)!r}, relative to the folder of that time, and is not in "
        "this one: recheck it there"
    )


def _require_here(source: Source) -> None:
    """Refuse to fetch gigabytes: of a long list of results, each may have weights of its own."""
    if source.kind == "hub" and not hub.cache.has_weights(source.folder):
        raise ComputeError(
            f"the weights of {source.name} are not on this disk, and a recheck fetches none: "
            "measure anything of it first"
        )


def _named(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What of an identity makes the model another one: not a name, nor the form it is told in."""
    return {name: value for name, value in identity.items() if name not in ("name", "form")}


def _made_by(provenance: Mapping[str, Any], passport: Passport) -> dict[str, Any]:
    """By what something was computed."""
    parts = asdict(passport)
    by = {called: parts[name] for name, called in _BY.items()}
    on = {name: provenance.get(name) for name in ("device", "threads")}
    return dict(provenance["versions"]) | by | on


def _others(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Each thing that was another before, with what it was and is."""
    for name in dict.fromkeys((*before, *now)):
        was, is_now = (_short(known.get(name)) for known in (before, now))
        if was != is_now:
            yield f"{name} {was} -> {is_now}"


def _short(value: Any) -> str:
    """A value as it is told; of a hash its first digits."""
    text = str(value) if value not in (None, "") else "none"
    is_hash = len(text) >= 40 and all(digit in "0123456789abcdef" for digit in text)
    return text[:_DIGITS] if is_hash else text
