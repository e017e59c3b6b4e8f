"""How long a measurement will take: by the model's shape, and by what earlier ones did take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from coupling_core.base.records import Request
from coupling_core.store.disk import Entry

RUNS = 50
"""How many earlier runs are looked at, those that were used last."""


@dataclass(frozen=True)
class Estimate:
    """How long one measurement takes.

    Args:
        seconds: of computing.
        load_seconds: of loading the model, median over the runs that did.
        runs: how many earlier runs this rests on; 0 is none, but the shape of the model.
        here: whether they ran on this machine, and not where the gallery was made.
        is_known: whether it rests on this machine at all: nothing is refused for another's times.
    """

    seconds: float
    load_seconds: float = 0.0
    runs: int = 0
    here: bool = True
    is_known: bool = True


def earlier(digest: str, request: Request, entries: Iterable[Entry]) -> list[Entry]:
    """Measurements of the same sort and model, by which one can be estimated.

    The gallery, whose results may be of another machine, counts only where there is nothing else.
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
    return sorted(here or found, key=lambda entry: entry.used)[-RUNS:]


def estimate(
    found: Sequence[Entry], asked: float, shapes: Sequence[float], *, in_seconds: bool
) -> Estimate | None:
    """What a measurement takes: by its shape, or by the runs before if that is more.

    A run tells by how much the shape errs: by as much it will err again, with another K or prompt.
    Of several the one in the middle counts: what disturbed one says nothing of the next, and a
    machine that is always busy takes as long again.

    Args:
        found: earlier runs.
        asked: what this one takes by its shape.
        shapes: the same of each of those.
        in_seconds: whether these are seconds of this machine; else they tell ratios alone.

    Returns:
        None where nothing is known.
    """
    if not found:
        return Estimate(asked) if in_seconds else None
    scaled = [
        float(entry.provenance["seconds"]) * asked / shape
        for entry, shape in zip(found, shapes, strict=True)
    ]
    # A model that was in memory already took none.
    loads = [took for entry in found if (took := entry.provenance["load_seconds"])]
    return Estimate(
        seconds=max(median_low(scaled), asked if in_seconds else 0.0),
        load_seconds=median(loads or [0.0]),
        runs=len(found),
        here=not found[0].read_only,
        is_known=in_seconds or not found[0].read_only,
    )
