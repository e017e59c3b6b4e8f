"""How directions are looked at from Python: their numbers by name, their figure, a sentence."""

import numpy as np

from coupling_core.analysis.directions import counts, tied, viewed
from coupling_core.base.drawing import Figure
from coupling_core.base.records import DirectionsView
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import READOUTS

FIGURES = {"readouts": Figure("directions.readouts")}


def verdict(result: DirectionsResult, view: DirectionsView) -> str:
    """How many readouts say more than chance, and how many directions are tied."""
    blocks, k = viewed(result, view)
    at = np.array(blocks) - 1
    found = counts(result, k)[:, at].sum(1)
    whole = k * len(at)
    said = [
        f"{count} of {whole} ({name.replace('_', ' by the ')})"
        for name, count in zip(READOUTS, found, strict=True)
        if name not in result.missing
    ]
    alike = int(tied(result)[at, :k].sum())
    told = ", ".join(said) or "none can be made"
    return (
        f"Readouts beyond chance: {told}; chance alone gives one in a hundred. {alike} of {whole} "
        f"directions are tied with the next."
    )
