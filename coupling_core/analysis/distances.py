"""Means of scores by the distance of blocks or of tokens, in words."""

import numpy as np
from jaxtyping import Float, Int

from coupling_core.base.units import counted, rounded


def verdict_by_distance(
    distance: Int[np.ndarray, " distance"],
    mean: Float[np.ndarray, " distance"],
    pairs: Int[np.ndarray, " distance"],
    name: str,
    of: str,
) -> str:
    """The means at the shortest and at the longest distance, in a sentence.

    Args:
        distance: ascending.
        mean: at each; NaN where there is none.
        pairs: how many pairs each mean is of.
        name: what the distance is called.
        of: what the mean is of, as a phrase that follows it, such as " of c at K = 8".
    """
    known = np.flatnonzero(~np.isnan(mean))
    if not known.size:
        return f"No pair has a score: there is no mean{of}."
    ends = dict.fromkeys((known[0], known[-1]))
    at = (
        f"{rounded(mean[i])} at {name} = {distance[i]} ({counted(int(pairs[i]), 'pair')})"
        for i in ends
    )
    return f"The mean{of} is {' and '.join(at)}."
