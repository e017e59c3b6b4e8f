"""The names of `base.notebook` before; it goes as soon as no module imports it."""

from typing import Any

from coupling_core.base.arrays import arrays_of
from coupling_core.base.notebook import Plottable as Drawn
from coupling_core.base.notebook import Tabular as Told
from coupling_core.base.notebook import in_a_line, in_a_page, in_short
from coupling_core.base.units import counted, rounded

__all__ = ["Drawn", "Told", "arrays_of", "in_a_line", "in_a_page", "in_short"]


def ends_told(distance: Any, mean: Any, count: Any, name: str, of: str) -> str:
    """The means at the shortest and at the longest of some distances, in a sentence."""
    known = [at for at, value in enumerate(mean) if value == value]
    if not known:
        return f"No pair has a score: there is no mean{of}."
    ends = dict.fromkeys((known[0], known[-1]))
    told = (
        f"{rounded(mean[at])} at {name} = {distance[at]} ({counted(int(count[at]), 'pair')})"
        for at in ends
    )
    return f"The mean{of} is {' and '.join(told)}."


def ends_in_short(distance: Any, mean: Any) -> str:
    """How many distances there are."""
    return counted(len(distance), "distance")
