"""What a measurement will cost, from what earlier ones of the same model did cost here."""

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
    """

    seconds: float
    load_seconds: float
    memory: int
    runs: int


def estimate(digest: str, entries: Iterable[Entry]) -> Estimate | None:
    """Cost of measuring a model, by the hash that names it; None where none was measured here.

    The gallery does not count: its results were made on another machine.
    """
    costs = [
        entry.provenance
        for entry in entries
        if not entry.gallery and not entry.problem and entry.identity.get("digest") == digest
    ]
    if not costs:
        return None
    return Estimate(
        seconds=median(cost["seconds"] for cost in costs),
        load_seconds=median(cost["load_seconds"] for cost in costs),
        memory=max(cost["peak_memory_bytes"] for cost in costs),
        runs=len(costs),
    )
