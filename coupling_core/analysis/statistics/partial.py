"""Correlation of coupling and performance that models' sizes do not account for (Figure 9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from coupling_core.analysis.statistics.correlations import Correlation, correlate
from coupling_core.analysis.statistics.means import ModelMeans
from coupling_core.analysis.statistics.points import (
    PLURAL,
    SIZES,
    ClusterBy,
    Points,
    is_constant,
    no_relation,
    pair,
    spans_decades,
)
from coupling_core.analysis.statistics.resampling import Range, jackknifed

COLLINEAR = 1e-3
"""A column of which the others leave less than this share of the variance unexplained (a variance
inflation factor of 1000) says what they say already."""


@dataclass(frozen=True)
class ResidualCorrelation:
    """Pearson correlation of what regressors leave of x and of y.

    Args:
        n: number of models.
        df: degrees of freedom of p: n - (regressors with the constant) - 1.
        reason: why there is no correlation; "" where there is one.
        estimate: -1..1, NaN where there is none.
        p: two-sided, by t = r sqrt(df / (1 - r^2)), as if all models were independent.
        low: lower end of the 95 % interval by Fisher's z, whose variance is 1 / (df - 1).
        high: its upper end; both NaN where df < 2.
    """

    n: int
    df: int
    reason: str = ""
    estimate: float = np.nan
    p: float = np.nan
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class PartialCorrelation:
    """Correlation of x and performance given the models' sizes.

    Args:
        points: what it is over.
        raw: the plain correlation of the same models.
        partial: the correlation of what the sizes leave of both.
        over_clusters: 95 % interval and p of `partial` over whole families (or training runs).
        given: the sizes accounted for, with their transform, such as "log10 parameters".
        left_out: sizes not accounted for, and why.
    """

    points: Points
    raw: Correlation
    partial: ResidualCorrelation
    over_clusters: Range
    given: tuple[str, ...]
    left_out: Mapping[str, str]


def partial_correlation(
    means: ModelMeans,
    y: str,
    given: Sequence[str] = SIZES,
    *,
    by: ClusterBy = "family",
) -> PartialCorrelation:
    """Pearson correlation of coupling and y given sizes of the models, by least squares.

    A size that is unknown of a model, constant, or a combination of those before it is left out
    and named: no model is dropped for it. To account for training tokens where some are unknown,
    take the subset of the models where they are known first. Of sizes that span orders of magnitude
    it is the logarithm.
    """
    points = pair(means, "coupling", y)
    rows = means.rows.set_index("model").loc[list(points.model)]
    used: dict[str, Float[np.ndarray, " point"]] = {}
    left_out: dict[str, str] = {}
    for name in given:
        values = rows[name].to_numpy(np.float64)
        log = spans_decades(values)
        values = np.log10(values) if log else values
        if reason := _useless(values, list(used.values())):
            left_out[name] = reason
        else:
            used[f"log10 {name}" if log else name] = values
    sizes = np.column_stack([np.ones(len(points)), *used.values()])
    partial = residual_correlation(points.regressor, points.y, sizes, no_relation(points))
    over = over_clusters(
        partial, points.regressor, points.y, sizes, points.clusters(by), PLURAL[by]
    )
    raw = correlate(points, by=by)
    return PartialCorrelation(points, raw, partial, over, tuple(used), left_out)


def over_clusters(
    found: ResidualCorrelation,
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    regressors: Float[np.ndarray, "point regressor"],
    unit: Int[np.ndarray, " point"],
    of: str,
) -> Range:
    """The interval of a `residual_correlation` over whole units (see `jackknifed`)."""
    if found.reason:
        return Range(len(set(unit)), of, found.reason)

    def statistic(weights: Float[np.ndarray, "sample point"]) -> Float[np.ndarray, " sample"]:
        return np.array([_correlation(x[w > 0], y[w > 0], regressors[w > 0]) for w in weights])

    return jackknifed(statistic, unit, of)


def residual_correlation(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    regressors: Float[np.ndarray, "point regressor"],
    reason: str = "",
) -> ResidualCorrelation:
    """Correlation of the residuals of x and y, its p corrected for what was regressed out.

    The regressors are of full rank, and span the constant; `reason` is why there is no correlation,
    where that is known already.
    """
    n, used = regressors.shape
    df = n - used - 1
    if not reason and df < 1:
        reason = f"{n} models leave no degree of freedom beside {used} regressors"
    if reason:
        return ResidualCorrelation(n, df, reason)
    for name, values in (("x", x), ("y", y)):
        if _residual(values, regressors) is None:
            reason = f"nothing of {name} is left when the others are accounted for"
            return ResidualCorrelation(n, df, reason)
    r = np.float64(_correlation(x, y, regressors))
    with np.errstate(divide="ignore"):  # of a perfect correlation
        p = 2 * stats.t.sf(abs(r) * np.sqrt(df / (1 - r**2)), df)
        spread = 1.96 / np.sqrt(df - 1) if df > 1 else np.nan
        low, high = np.tanh(np.arctanh(r) + spread * np.array([-1, 1]))
    return ResidualCorrelation(n, df, "", float(r), float(p), float(low), float(high))


def _residual(
    values: Float[np.ndarray, " point"], regressors: Float[np.ndarray, "point regressor"]
) -> Float[np.ndarray, " point"] | None:
    """What regressors leave of values; None where that is nothing."""
    left = values - regressors @ np.linalg.lstsq(regressors, values)[0]
    spread = np.sum((values - values.mean()) ** 2)
    return None if left @ left <= COLLINEAR**2 * spread else left


def _correlation(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    regressors: Float[np.ndarray, "point regressor"],
) -> float:
    """Of the residuals of x and y; NaN where one has none."""
    u, v = (_residual(values, regressors) for values in (x, y))
    if u is None or v is None:
        return np.nan
    return float(np.clip(u @ v / np.sqrt((u @ u) * (v @ v)), -1, 1))


def _useless(
    values: Float[np.ndarray, " point"], before: Sequence[Float[np.ndarray, " point"]]
) -> str:
    """Why a column cannot be accounted for; "" where it can."""
    unknown = int(np.isnan(values).sum())
    if unknown:
        return f"it is not known of {unknown} of the {len(values)} models"
    if not len(values) or is_constant(values):
        return "the same for all models"
    design = add_constant(np.column_stack(before)) if before else np.ones((len(values), 1))
    if 1 - OLS(values, design).fit().rsquared < COLLINEAR:
        return "follows from those before it"
    return ""
