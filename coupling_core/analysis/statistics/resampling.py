"""Intervals and p over units that are independent, such as models, families or prompts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from coupling_core.analysis.scores import LEVEL, p_words, too_few
from coupling_core.base.records import Method
from coupling_core.base.units import counted, rounded

COLLINEAR = 1e-3
"""A column of which the others leave less than this share of the variance unexplained (a variance
inflation factor of 1000) says what they say already."""
_FLAT = 1e-12

Numbers = Float[np.ndarray, " point"]
Regressors = Float[np.ndarray, "point regressor"]


@dataclass(frozen=True)
class Range:
    """A 95 % interval with its two-sided p of 0, or the reason why there is none and both are NaN.

    It is over so many independent units of a kind: "models", "families", "training runs", "seeds",
    "prompts".
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


def jackknifed(
    statistic: Callable[[Bool[np.ndarray, " point"]], float],
    unit: Int[np.ndarray, " point"],
    of: str,
    *,
    is_correlation: bool = True,
) -> Range:
    """95 % interval of a statistic of the points that are kept, by leaving out whole units.

    With d_g how far the statistic moves as unit g of G is left out (Tukey 1958; for regressions
    MacKinnon and White 1985, CR3), of a correlation its Fisher's z,

        se^2 = (G - 1) / G sum_g d_g^2,      nu = min(G, 3 (sum d^2)^2 / sum d^4) - 2,

    and the interval is that of Student's t. Of equal normal d the second term is about G; where a
    few units carry all, it is about three times their number. How often the interval misses on
    planted tables is in `benchmarks/results/sentences.md`. The statistic is of the points where a
    mask is true, NaN where these have none; units are numbers from 0, `of` names them.
    """
    units = len(np.unique(unit))
    if reason := too_few(units, of):
        return Range(units, of, reason)
    kept = [np.ones(unit.size, bool), *(unit != left_out for left_out in range(units))]
    values = np.array([statistic(points) for points in kept])
    if not np.isfinite(values).all():
        return Range(units, of, f"it rests on one of {units} {of} alone")
    if is_correlation:
        values = np.arctanh(np.clip(values, -1 + _FLAT, 1 - _FLAT))
    low, high, p = _student(values[0], values[1:] - values[0])
    if is_correlation:
        low, high = np.tanh([low, high])
    return Range(units, of, low=float(low), high=float(high), p=p)


def _student(whole: float, moved: Float[np.ndarray, " unit"]) -> tuple[float, float, float]:
    """Interval and p by Student's t; without width where no unit moves anything."""
    units, squares = len(moved), moved @ moved
    if squares <= (_FLAT * whole) ** 2:
        return whole, whole, float(whole == 0)
    error = np.sqrt((units - 1) / units * squares)
    df = max(1.0, min(units, 3 * squares**2 / np.sum(moved**4)) - 2)
    half = stats.t.ppf(1 - LEVEL / 2, df) * error
    return whole - half, whole + half, float(2 * stats.t.sf(abs(whole) / error, df))


def is_constant(values: Numbers) -> bool:
    """Whether numbers differ by rounding at most."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def unrelated(numbers: Mapping[str, Numbers], of: str) -> str:
    """Why two numbers of models, or of prompts, have no correlation; "" where they have one."""
    n = min(map(len, numbers.values()))
    if n < 3:
        return f"{counted(n, of)} with both {' and '.join(numbers)}, and 3 are needed"
    same = [name for name, values in numbers.items() if is_constant(values)]
    return f"all {n} {of}s have the same {same[0]}, so nothing can go with it" if same else ""


def left_of(values: Numbers, given: Regressors | None) -> tuple[Numbers, float]:
    """What regressors, or else the mean, leave of values, and of their variance as a share."""
    centred = values - values.mean()
    left = centred if given is None else values - given @ np.linalg.lstsq(given, values)[0]
    share = 0.0 if is_constant(values) else float(left @ left / (centred @ centred))
    return left, share


def correlation(
    x: Numbers, y: Numbers, method: Method = "pearson", given: Regressors | None = None
) -> float:
    """That of x and y, or of what regressors leave of both; NaN where nothing of one is left."""
    if method == "spearman":
        x, y = _ranks(x), _ranks(y)
    (u, of_x), (v, of_y) = left_of(x, given), left_of(y, given)
    if min(of_x, of_y) <= COLLINEAR**2:
        return np.nan
    return float(np.clip(u @ v / np.sqrt((u @ u) * (v @ v)), -1, 1))


def _ranks(values: Numbers) -> Numbers:
    """Ranks, ties at their middle; SciPy's take ten times as long."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def coefficient(x: Numbers, y: Numbers, degree: int = 1) -> float:
    """That of x**degree in the polynomial of least squares; NaN where x has too few values."""
    if is_constant(x):
        return np.nan
    x = x - x.mean()
    scale = np.abs(x).max()
    terms = np.vander(x / scale, degree + 1)
    found, _, rank, _ = np.linalg.lstsq(terms, y, rcond=np.sqrt(_FLAT))
    return float(found[0] / scale**degree) if rank > degree else np.nan
