"""Perturbation: noise on a token's embedding, followed through the blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from coupling_core.base.figure_names import PerturbationFigure
from coupling_core.base.results.at_token import AtToken

WAYS = ("isotropic", "leading", "random")
"""Where noise lies: anywhere; along the leading v of block 1; along random frames of as many."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PerturbationResult(AtToken[PerturbationFigure]):
    """x^0_t + e norm(x^0_t) w at one token, its states x^l_t, and what first order makes of it.

    What is not measured yet (a partial result) is NaN.

    Args:
        noise_sizes: e, in units of the norm of x^0_t.
        directions: K, how many leading directions of block 1, and columns of the random frames.
        distance: norm of the change of x^l_t, in units of its own norm; states 0..L.
        cosine: of the disturbed state with the model's own.
        linear_distance: as distance, by the product of M^l ... M^1.
        linear_cosine: as cosine, by the same.
        error: norm of what first order is off by, in units of the true change.
        rounding: how far states run among others are from the same alone, in units of their norm.
    """

    noise_sizes: Float[np.ndarray, " size"]
    directions: int
    distance: Float[np.ndarray, "way size draw state"]
    cosine: Float[np.ndarray, "way size draw state"]
    linear_distance: Float[np.ndarray, "way size draw state"]
    linear_cosine: Float[np.ndarray, "way size draw state"]
    error: Float[np.ndarray, "way size draw state"]
    rounding: Float[np.ndarray, " state"]

    finite = ("noise_sizes", "rounding")
    infinite = ("error",)
    axis_names: ClassVar = {"way": WAYS}

    @property
    def complete(self) -> bool:
        """Whether all of the noise was followed."""
        return not np.isnan(self.distance).any()

    def consistency(self) -> Mapping[str, bool]:
        """As `Result.consistency`."""
        sizes = self.noise_sizes
        return {
            "its sizes do not ascend": bool(len(sizes) and (np.diff(sizes, prepend=0) > 0).all()),
            "its first block has no such number of directions": 1 <= self.directions <= self.width,
        }
