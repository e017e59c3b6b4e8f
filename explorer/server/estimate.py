"""What a measurement will cost, from what earlier ones of the same model did cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from coupling_core.base.kinds import kind_of
from coupling_core.base.records import Request
from coupling_core.store.disk import Entry


@dataclass(frozen=True)
class Estimate:
    """The cost of one measurement.

    Args:
        seconds: of computing, median over the runs.
        load_seconds: of loading the model, median over the runs that did.
        memory: peak of the process in bytes, the largest of the runs.
        runs: how many earlier runs this rests on; 0 is none, but the shape of the model.
        here: whether they ran on this machine, and not where the gallery was made.
    """

    seconds: float
    load_seconds: float = 0.0
    memory: int = 0
    runs: int = 0
    here: bool = True


def estimate(
    digest: str, request: Request, tokens: int | None, entries: Iterable[Entry]
) -> Estimate | None:
    """Cost of a measurement, from earlier ones of its kind; None where there was none.

    The gallery, whose results may be of another machine, counts only where there is nothing else.

    Args:
        digest: hash that names the model.
        request: what would be measured.
        tokens: length of the prompt; None where it is not known.
        entries: what is stored.
    """
    found = [
        entry
        for entry in entries
        if not entry.problem
        and entry.identity.get("digest") == digest
        and entry.request is not None
        and entry.request.sort == request.sort
    ]
    here = [entry for entry in found if not entry.read_only]
    chosen = here or found
    if not chosen:
        return None
    # A model that was in memory already took none.
    loads = [took for entry in chosen if (took := entry.provenance["load_seconds"])]
    # A mean compares each Jacobian with every other, and that takes the most.
    power = kind_of(request.kind).grows + request.is_mean
    return Estimate(
        seconds=median(_scaled(entry, tokens, power) for entry in chosen),
        load_seconds=median(loads or [0.0]),
        memory=max(entry.provenance["peak_memory_bytes"] for entry in chosen),
        runs=len(chosen),
        here=bool(here),
    )


def _scaled(entry: Entry, tokens: int | None, power: int) -> float:
    """Seconds of an earlier run, at the length of this prompt."""
    longer = (tokens or len(entry.tokens)) / len(entry.tokens) if entry.tokens else 1.0
    return float(entry.provenance["seconds"]) * longer**power
