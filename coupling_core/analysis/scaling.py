"""How the top singular values of the Jacobians change with depth (preprint, A.3)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

TOP = 10
"""Singular values of each block that are followed through depth, unless fewer are stored."""


@dataclass(frozen=True)
class Line:
    """The straight line y = intercept + slope * x of least squares.

    Args:
        slope: change a block.
        intercept: at block 0.
        r_squared: share of the variance of y that the line explains; NaN where y is constant.
    """

    slope: float
    intercept: float
    r_squared: float


def fit_line(x: Float[np.ndarray, " point"], y: Float[np.ndarray, " point"]) -> Line:
    """Fit a line to the points of finite y; NaN throughout where there are fewer than two."""
    from scipy.stats import linregress  # takes a while to import

    known = np.isfinite(y)
    if known.sum() < 2:
        return Line(np.nan, np.nan, np.nan)
    line = linregress(x[known], y[known])
    return Line(float(line.slope), float(line.intercept), float(line.rvalue**2))


def inverse_fits(
    singular_values: Float[np.ndarray, "block k"],
) -> tuple[Float[np.ndarray, "block k"], tuple[Line, ...]]:
    """1 / s_k of every block, and for each k its line over the blocks 1..L.

    Singular values that scale inversely with depth have inverses on a line. A block without a
    positive singular value has no inverse (NaN).
    """
    s = np.asarray(singular_values, np.float64)
    inverse = np.divide(1.0, s, out=np.full_like(s, np.nan), where=s > 0)
    blocks = np.arange(1, len(s) + 1, dtype=float)
    return inverse, tuple(fit_line(blocks, column) for column in inverse.T)
