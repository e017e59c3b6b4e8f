"""A comparison's numbers in the forms that other programs read."""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.compare import Comparison
from coupling_core.analysis.exports.forms import to_csv
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.analysis.token_comparison import TokenComparison

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def comparison_arrays(found: Comparison) -> dict[str, np.ndarray]:
    """What a comparison holds, by name; the first axis of the scores and of `blocks` is A, B.

    Returns:
        `coupling`, `chance` and `corrected` (side block block), `difference` (block block; A - B
        of the score compared), `blocks` (side block; the numbers that are matched), `sides` (side;
        "A" and "B").
    """
    both = (found.a_scores, found.b_scores)
    scores = {
        name: np.stack([getattr(side, name) for side in both])
        for name in ("coupling", "chance", "corrected")
    }
    blocks = np.stack([side.blocks for side in both])
    sides = np.array(["A", "B"])
    return scores | {"difference": found.difference, "blocks": blocks, "sides": sides}


COMPARISON_AXES = {
    **dict.fromkeys(("coupling", "chance", "corrected"), ("side", "block", "basis")),
    "difference": ("block", "basis"),
    "blocks": ("side", "block"),
    "sides": ("side",),
}
"""Names of the axes of `comparison_arrays`; a comparison's first side is A."""


def comparison_table(found: Comparison) -> bytes:
    """`differences_table` as CSV, with columns that say what A and B are."""
    return to_csv(signed_differences(differences_table(found), found))


def signed_differences(
    table: "DataFrame", found: Comparison | TokenComparison | PathComparison
) -> "DataFrame":
    """A table of a comparison with columns that say, after its own, whose numbers A and B are."""
    told: dict[str, str | float] = {}
    for side, result in (("A", found.a), ("B", found.b)):
        told |= {f"{side} model": result.model_name, f"{side} prompt": result.prompt_text}
        told |= {f"{side} measured": result.measured}
        told |= {f"{side} final_norm": result.request.final_norm}
        told |= {f"{side} precision": result.precision}
    if not isinstance(found, PathComparison):
        view = found.view
        told |= {"score": "corrected" if found.corrected else "coupling"}
        told |= {"K": view.k, "definition": view.definition, "p": view.p, "role": view.role}
    return table.assign(**told)


def differences_table(found: Comparison) -> "DataFrame":
    """A row a pair l != l' that both have, with `DIFFERENCE_COLUMNS`; the biggest first."""
    return found.to_pandas()
