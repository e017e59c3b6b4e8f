"""What a measurement will cost, from what earlier ones of the same model did cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from coupling_core.store import Entry


@dataclass(frozen=True)
class Estimate:
    """The cost of one measurement.

    Args:
        seconds: of computing, median over the runs.
        load_seconds: of loading the model, median over the runs.
        memory: peak of the process in bytes, the largest of the runs.
        runs: how many earlier runs this rests on.
        here: whether they ran on this machine, and not where the gallery was made.
    """

    seconds: float
    load_seconds: float
    memory: int
    runs: int
    here: bool


def estimate(digest: str, entries: Iterable[Entry]) -> Estimate | None:
    """Cost of measuring a model, by the hash that names it; None where none was measured.

    The gallery, whose results may be of another machine, counts only where there is nothing else.
    """
    found = [e for e in entries if not e.problem and e.identity.get("digest") == digest]
    here = [entry for entry in found if not entry.gallery]
    costs = [entry.provenance for entry in here or found]
    if not costs:
        return None
    return Estimate(
        seconds=median(cost["seconds"] for cost in costs),
        load_seconds=median(cost["load_seconds"] for cost in costs),
        memory=max(cost["peak_memory_bytes"] for cost in costs),
        runs=len(costs),
        here=bool(here),
    )
