"""Intervals and p over units that are independent: models, training runs, families, prompts.

Each unit is left out in turn, with all points that belong to it: how far the statistic moves tells
how sure it is. What is left is a set of weights of the points, 0 for those that are out, so that
correlations and slopes are computed for all units at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from coupling_core.base.records import Method
from coupling_core.base.units import rounded

MIN_UNITS = 5
"""Fewer units than this leave at most two degrees of freedom, and nothing worth saying."""
LEVEL = 0.05
"""Below this a p is called significant; an interval leaves out 0 where its p is below it."""
FLAT = 1e-12
"""A variance below this share of that of all points is a constant's."""
_LEAST_P = 0.001
"""A smaller p rests on the far tails of distributions, and is not told as a number."""


@dataclass(frozen=True)
class Range:
    """A 95 % interval, and the p that goes with it.

    Args:
        units: how many independent units it is over.
        of: what they are, in the plural: "models", "families", "training runs", "seeds", "prompts".
        reason: why there is no interval; "" where there is one.
        low: lower end, NaN where there is none.
        high: upper end.
        p: two-sided, of 0; below 0.05 where the interval leaves out 0; NaN where there is none.
    """

    units: int
    of: str
    reason: str = ""
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan

    @property
    def p_told(self) -> str:
        """The p in words."""
        return p_words(self.p)

    @property
    def told(self) -> str:
        """Interval and p in words, for a correlation; or why there is none."""
        if self.reason:
            return self.reason
        whole = "" if self.of in ("models", "prompts") else f" over whole {self.of}"
        return f"95\u00a0%: {rounded(self.low, 2)} to {rounded(self.high, 2)}, {self.p_told}{whole}"


def p_words(p: float) -> str:
    """A p as people read it."""
    return f"p < {_LEAST_P}" if p < _LEAST_P else f"p = {p:.{2 + (p > 0.99)}g}"


def too_few(units: int, of: str, what: str = "an interval and a p need") -> str:
    """Why units are too few for an interval; "" where they are not."""
    if units >= MIN_UNITS:
        return ""
    return f"{what} at least {MIN_UNITS} {of}; here the number is {units}"


def jackknifed(
    statistic: Callable[[Float[np.ndarray, "sample point"]], Float[np.ndarray, " sample"]],
    unit: Int[np.ndarray, " point"],
    of: str,
    *,
    is_correlation: bool = True,
) -> Range:
    """95 % interval of a statistic of weighted points by leaving out whole units.

    With d_g how far the statistic moves as unit g of G is left out (Tukey 1958; for regressions
    MacKinnon and White 1985, CR3), of a correlation its Fisher's z,

        se^2 = (G - 1) / G sum_g d_g^2,      nu = min(G, 3 (sum d^2)^2 / sum d^4) - 2,

    and the interval is that of Student's t. Of equal normal d the second term is about G; where a
    few units carry all, it is about three times their number. How often the interval misses on
    planted tables is in `benchmarks/results/sentences.md`.

    Args:
        statistic: weights (sample, point) -> value (sample), NaN where a sample has none.
        unit: the unit, from 0, that each point belongs to.
        of: what the units are, in the plural.
        is_correlation: whether the statistic lies in -1..1.
    """
    units = int(unit.max()) + 1 if unit.size else 0
    if reason := too_few(units, of):
        return Range(units, of, reason)
    weights = np.vstack([np.ones(unit.size), 1 - np.eye(units)[:, unit]])
    values = statistic(weights)
    if not np.isfinite(values).all():
        return Range(units, of, f"it rests on one of {units} {of} alone")
    if is_correlation:
        values = np.arctanh(np.clip(values, -1 + FLAT, 1 - FLAT))
    whole, moved = values[0], values[1:] - values[0]
    low, high, p = _student(whole, moved)
    if is_correlation:
        low, high = np.tanh([low, high])
    return Range(units, of, low=float(low), high=float(high), p=p)


def _student(whole: float, moved: Float[np.ndarray, " unit"]) -> tuple[float, float, float]:
    """Interval and p by Student's t; without width where no unit moves anything."""
    units, squares = len(moved), moved @ moved
    if squares <= (FLAT * whole) ** 2:
        return whole, whole, float(whole == 0)
    error = np.sqrt((units - 1) / units * squares)
    df = max(1.0, min(units, 3 * squares**2 / np.sum(moved**4)) - 2)
    half = stats.t.ppf(1 - LEVEL / 2, df) * error
    return whole - half, whole + half, float(2 * stats.t.sf(abs(whole) / error, df))


def correlations(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    weights: Float[np.ndarray, "sample point"],
    method: Method,
) -> Float[np.ndarray, " sample"]:
    """Correlation of weighted points for every set of weights; NaN where x or y is constant."""
    if method == "spearman":
        ranked = (_ranks(values, weights) for values in (x, y))
    else:
        ranked = ((values - values.mean()) / values.std() + 0 * weights for values in (x, y))
    u, v = (centred(values, weights) for values in ranked)
    var_u, var_v = (weighted_mean(values**2, weights) for values in (u, v))
    defined = (var_u > FLAT) & (var_v > FLAT)
    size = np.sqrt(np.where(defined, var_u * var_v, np.nan))
    return np.clip(weighted_mean(u * v, weights) / size, -1, 1)


def slopes(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    weights: Float[np.ndarray, "sample point"],
) -> Float[np.ndarray, " sample"]:
    """Slope of y in x by least squares for every set of weights; NaN where x is constant."""
    u, v = (centred(values + 0 * weights, weights) for values in (x, y))
    square = weighted_mean(u**2, weights)
    return weighted_mean(u * v, weights) / np.where(square > FLAT * x.var(), square, np.nan)


def _ranks(
    values: Float[np.ndarray, " point"], weights: Float[np.ndarray, "sample point"]
) -> Float[np.ndarray, "sample point"]:
    """Ranks, ties at their middle, that points have where each is there `weights` times."""
    distinct, place = np.unique(values, return_inverse=True)
    there = weights @ np.eye(len(distinct))[place]  # (sample, distinct value)
    return (np.cumsum(there, 1) - there / 2)[:, place]


def weighted_mean(
    values: Float[np.ndarray, "sample point"], weights: Float[np.ndarray, "sample point"]
) -> Float[np.ndarray, " sample"]:
    """Mean of the points of every sample."""
    with np.errstate(invalid="ignore"):  # NaN where a sample has none of the points
        return (values * weights).sum(1) / weights.sum(1)


def centred(
    values: Float[np.ndarray, "sample point"], weights: Float[np.ndarray, "sample point"]
) -> Float[np.ndarray, "sample point"]:
    """Points less their mean in every sample."""
    return values - weighted_mean(values, weights)[:, None]
