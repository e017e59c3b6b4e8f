"""Numbers of spectra: what a list of singular values amounts to, and the means over blocks."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coupling_core.base.equality import SameContent
from coupling_core.base.keywords import known_keywords
from coupling_core.base.results import SpectrumResult
from coupling_core.base.showing import in_a_line
from coupling_core.base.units import counted, rounded


@known_keywords
def participation_ratio(s: Float[np.ndarray, "product d"]) -> Float[np.ndarray, " product"]:
    """How many directions carry a product: (sum s^2)^2 / sum s^4, from 1 to d.

    Args:
        s: singular values of each product, in any scale.
    """
    squares = np.asarray(s, np.float64) ** 2
    return squares.sum(-1) ** 2 / (squares**2).sum(-1)


@known_keywords
def effective_rank(s: Float[np.ndarray, "product d"]) -> Float[np.ndarray, " product"]:
    """The same, less governed by the largest: exp(entropy of s^2 / sum s^2), from 1 to d.

    Args:
        s: singular values of each product, in any scale.
    """
    share = np.asarray(s, np.float64) ** 2
    share = share / share.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(share == 0, 0.0, share * np.log(share))
    return np.exp(-terms.sum(-1))


@dataclass(frozen=True, repr=False, eq=False)
class SpectrumNumbers(SameContent):
    """By block l; NaN where it is not measured.

    Args:
        radius: largest |lambda| of M^l.
        outside: share of eigenvalues outside the unit circle.
        certain: share that is known to a hundredth of its modulus.
        departure: Henrici's, in units of norm_F(M).
        asymmetry: norm_F(J - J^T) / norm_F(J + J^T).
        u_dot_v: mean u_k . v_k over the triplets that are kept; negative where a block takes from a
            state what it acts on most.
        participation: ratio of the product M^l ... M^1.
        effective_rank: of the same.
    """

    radius: Float[np.ndarray, " block"]
    outside: Float[np.ndarray, " block"]
    certain: Float[np.ndarray, " block"]
    departure: Float[np.ndarray, " block"]
    asymmetry: Float[np.ndarray, " block"]
    u_dot_v: Float[np.ndarray, " block"]
    participation: Float[np.ndarray, " block"]
    effective_rank: Float[np.ndarray, " block"]

    def __repr__(self) -> str:
        n = len(self.departure)
        known = int(np.isfinite(self.departure).sum())
        if not known:
            return in_a_line(self, counted(n, "block"), "none measured")
        departure, cosine = (
            rounded(np.nanmedian(values), 2) for values in (self.departure, self.u_dot_v)
        )
        return in_a_line(
            self,
            counted(n, "block"),
            f"{known} measured" * (known < n),
            f"in the median departure {departure}, u . v {cosine}",
            f"largest radius {rounded(np.nanmax(self.radius))}",
        )


@known_keywords
def spectrum_numbers(result: SpectrumResult) -> SpectrumNumbers:
    """The curves over depth of one measurement.

    Args:
        result: may be partial.
    """
    modulus = np.abs(result.values)
    known = ~np.isnan(modulus[:, 0])
    return SpectrumNumbers(
        modulus[:, 0],
        np.where(known, (modulus > 1).mean(1), np.nan),
        np.where(known, result.certain.mean(1), np.nan),
        result.departure,
        result.asymmetry,
        result.u_dot_v.mean(1),
        participation_ratio(result.product_values),
        effective_rank(result.product_values),
    )
