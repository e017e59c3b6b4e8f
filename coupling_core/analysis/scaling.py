"""How the top singular values of the Jacobians change with depth (preprint, A.3)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

TOP = 10
"""Singular values of each block that are followed through depth, unless fewer are stored."""


class Line(NamedTuple):
    """y = intercept + slope * block, by least squares, and its share of the variance of y."""

    slope: float
    intercept: float
    r_squared: float


def inverse_fits(
    singular_values: Float[np.ndarray, "block k"],
) -> tuple[Float[np.ndarray, "block k"], tuple[Line, ...]]:
    """1 / s_k of every block, and for each k its line over the blocks 1..L.

    Singular values that scale inversely with depth have inverses on a line. A block without a
    positive singular value has no inverse (NaN), and fewer than two inverses have no line.
    """
    s = np.asarray(singular_values, np.float64)
    inverse = 1 / np.where(s > 0, s, np.nan)
    return inverse, tuple(map(_line, inverse.T))


def _line(y: Float[np.ndarray, " block"]) -> Line:
    from scipy.stats import linregress  # takes a while to import

    (known,) = np.isfinite(y).nonzero()
    if known.size < 2:
        return Line(np.nan, np.nan, np.nan)
    found = linregress(known + 1.0, y[known])
    return Line(float(found.slope), float(found.intercept), float(found.rvalue**2))
