"""Correlation of coupling and performance that models' sizes do not account for (Figure 9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from coupling_core.statistics.correlations import Correlation, correlate
from coupling_core.statistics.fits import clustered
from coupling_core.statistics.means import ModelMeans, require_columns
from coupling_core.statistics.points import (
    SIZES,
    ClusterBy,
    Points,
    is_constant,
    no_relation,
    pair,
    spans_decades,
)

COLLINEAR = 1e-3
"""A column of which the others leave less than this share of the variance unexplained (a variance
inflation factor of 1000) says what they say already."""


@dataclass(frozen=True)
class ResidualCorrelation:
    """Pearson correlation of what regressors leave of x and of y.

    Args:
        n: number of models.
        df: degrees of freedom of p: n - (regressors with the constant) - 1.
        estimate: -1..1, NaN where there is none.
        p: two-sided, by t = r sqrt(df / (1 - r^2)), as if all models were independent.
        low: lower end of the 95 % interval by Fisher's z, whose variance is 1 / (df - 1).
        high: its upper end; both NaN where df < 2.
        reason: why there is no correlation; "" where there is one.
    """

    n: int
    df: int
    estimate: float
    p: float
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class PartialCorrelation:
    """Correlation of x and performance given the models' sizes.

    Args:
        points: what it is over.
        raw: the plain correlation of the same models.
        partial: the correlation of what the sizes leave of both.
        clustered_p: p of x in the regression of y on x and the sizes, robust to dependence within
            clusters; NaN where these are too few.
        given: the sizes accounted for, with their transform, such as "log10 parameters".
        left_out: sizes not accounted for, and why.
    """

    points: Points
    raw: Correlation
    partial: ResidualCorrelation
    clustered_p: float
    given: tuple[str, ...]
    left_out: Mapping[str, str]


def partial_correlation(
    means: ModelMeans,
    y: str,
    x: str = "coupling",
    given: Sequence[str] = SIZES,
    *,
    by: ClusterBy = "family",
) -> PartialCorrelation:
    """Pearson correlation of x and y given sizes of the models, by residuals of least squares.

    A size that is unknown of a model, constant, or a combination of those before it is left out
    and named: no model is dropped for it. To account for training tokens where some are unknown,
    take the subset of the models where they are known first.

    Args:
        means: a row a model.
        y: column of performance, "loss" or "score".
        x: column of what is looked at.
        given: columns to account for, the logarithm of those that span orders of magnitude.
        by: the clusters of `clustered_p`.

    Raises:
        InputError: where there is no such column.
    """
    require_columns(means.rows, *given)
    points = pair(means, x, y)
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
    p = np.nan
    if not partial.reason:
        p, _ = clustered(OLS(points.y, np.column_stack([points.regressor, sizes])), points, by, 0)
    return PartialCorrelation(points, correlate(points, by=by), partial, p, tuple(used), left_out)


def residual_correlation(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    regressors: Float[np.ndarray, "point regressor"],
    reason: str = "",
) -> ResidualCorrelation:
    """Correlation of the residuals of x and y, its p corrected for what was regressed out.

    Args:
        x: of each model.
        y: of each model.
        regressors: of full rank, their span with the constant in it.
        reason: why there is none, where that is known already.
    """
    n, used = regressors.shape
    df = n - used - 1
    if not reason and df < 1:
        reason = f"{n} models leave no degree of freedom beside {used} regressors"
    if reason:
        return _none(n, df, reason)
    u, v = (OLS(values, regressors).fit().resid for values in (x, y))
    for name, left, values in (("x", u, x), ("y", v, y)):
        if left @ left <= COLLINEAR**2 * np.sum((values - values.mean()) ** 2):
            return _none(n, df, f"nothing of {name} is left when the others are accounted for")
    r = float(np.clip(stats.pearsonr(u, v).statistic, -1, 1))
    with np.errstate(divide="ignore"):  # of a perfect correlation
        p = 2 * stats.t.sf(abs(r) * np.sqrt(df / (1 - r**2)), df)
        spread = 1.96 / np.sqrt(df - 1) if df > 1 else np.nan
        low, high = np.tanh(np.arctanh(r) + spread * np.array([-1, 1]))
    return ResidualCorrelation(n, df, r, float(p), float(low), float(high))


def _useless(
    values: Float[np.ndarray, " point"], before: Sequence[Float[np.ndarray, " point"]]
) -> str:
    """Why a column cannot be accounted for; "" where it can."""
    unknown = int(np.isnan(values).sum())
    if unknown:
        return f"no number of {unknown} of {len(values)} models"
    if not len(values) or is_constant(values):
        return "the same for all models"
    design = add_constant(np.column_stack(before)) if before else np.ones((len(values), 1))
    if 1 - OLS(values, design).fit().rsquared < COLLINEAR:
        return "follows from those before it"
    return ""


def _none(n: int, df: int, reason: str) -> ResidualCorrelation:
    return ResidualCorrelation(n, df, np.nan, np.nan, np.nan, np.nan, reason)
