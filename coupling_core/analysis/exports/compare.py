"""A comparison's numbers in the forms that other programs read."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.alignment import MapComparison
from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.path_comparison import PathComparison

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

COMPARISON_AXES = {
    **dict.fromkeys(("coupling", "chance", "corrected"), ("side", "block", "basis")),
    "difference": ("block", "basis"),
    "blocks": ("side", "block"),
    "sides": ("side",),
}
"""Names of the axes of `comparison_arrays`; a comparison's first side is A."""


def comparison_arrays(found: Comparison) -> dict[str, np.ndarray]:
    """What a comparison holds, by name: the scores and `blocks` of A and B, and their difference.

    `difference` is A - B of the score compared; `blocks` has the numbers that are matched.
    """
    both = (found.a_scores, found.b_scores)
    names = ("coupling", "chance", "corrected", "blocks")
    named = {name: np.stack([getattr(side, name) for side in both]) for name in names}
    return named | {"difference": found.difference, "sides": np.array(["A", "B"])}


def signed_differences(table: "DataFrame", found: MapComparison | PathComparison) -> "DataFrame":
    """A table of a comparison with columns that say, after its own, whose numbers A and B are."""
    more: dict[str, str | float] = {}
    for side, result in (("A", found.a), ("B", found.b)):
        more |= {
            f"{side} model": result.model_name,
            f"{side} prompt": result.prompt_text,
            f"{side} measured": result.measured,
            f"{side} final_norm": result.request.final_norm,
            f"{side} precision": result.precision,
        }
    if isinstance(found, MapComparison):
        view = found.view
        more |= {"score": found.score, "K": view.k}
        more |= {"definition": view.definition, "p": view.p, "role": view.role}
    return table.assign(**more)


def differences_table(found: Comparison) -> "DataFrame":
    """Twin of the maps: a row a pair l != l' that both have, the biggest difference first."""
    return found.to_pandas()
