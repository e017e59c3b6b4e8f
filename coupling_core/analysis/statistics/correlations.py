"""Correlation over models, or of what sizes or families leave (Figure 9), with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy import stats

from coupling_core.analysis.statistics.means import ModelMeans
from coupling_core.analysis.statistics.points import (
    PLURAL,
    ClusterBy,
    Points,
    no_relation,
    pair,
    spans_decades,
)
from coupling_core.analysis.statistics.resampling import (
    COLLINEAR,
    Numbers,
    Range,
    Regressors,
    correlation,
    is_constant,
    jackknifed,
    left_of,
)
from coupling_core.base.records import MODEL_SIZES, Method


@dataclass(frozen=True)
class Correlation:
    """How two numbers of models, or of prompts, go together.

    Args:
        method: "pearson" (r, of straight lines) or "spearman" (rho, of ranks).
        n: number of models.
        over_models: interval as if all models were independent.
        over_clusters: over whole families (or training runs), which stays honest where members of
            one are alike; None of prompts, which are independent.
        reason: why there is no correlation; "" where there is one.
        estimate: the coefficient, -1..1; NaN where there is none.
        p: two-sided, as if all models were independent, which published tables have: it is too
            small where models of one family are alike, and no sentence rests on it.
    """

    method: Method
    n: int
    over_models: Range
    over_clusters: Range | None = None
    reason: str = ""
    estimate: float = np.nan
    p: float = np.nan

    @property
    def over(self) -> Range:
        """The interval and p over what is independent, which sentences tell."""
        return self.over_clusters or self.over_models


@dataclass(frozen=True)
class PartialCorrelation:
    """The correlation of what the models' sizes leave of coupling and performance.

    `given` are the sizes accounted for, such as "log10 parameters"; `left_out` says why others
    are not.
    """

    partial: Correlation
    given: tuple[str, ...]
    left_out: Mapping[str, str]


def correlate(
    points: Points, method: Method = "pearson", *, by: ClusterBy = "family"
) -> Correlation:
    """Correlation of x and y over models (Figure 1a); of log10 x where `points.log_x`."""
    reason, unit = no_relation(points), points.clusters(by)
    return correlation_of(points.regressor, points.y, unit, PLURAL[by], method, reason=reason)


def partial_correlation(
    means: ModelMeans, y: str, *, by: ClusterBy = "family"
) -> PartialCorrelation:
    """Pearson correlation of coupling and y given the models' sizes (of decades, their logarithms).

    A size that is unknown of a model, constant, or a combination of those before it is left out
    and named: no model is dropped for it.
    """
    points = pair(means, "coupling", y)
    rows = means.rows.set_index("model").loc[points.rows["model"]]
    used: dict[str, Numbers] = {"": np.ones(len(points))}
    left_out: dict[str, str] = {}
    for name in MODEL_SIZES:
        values = rows[name].to_numpy(np.float64)
        log = spans_decades(values)
        values = np.log10(values) if log else values
        if reason := _useless(values, np.column_stack([*used.values()])):
            left_out[name] = reason
        else:
            used[f"log10 {name}" if log else name] = values
    found = correlation_of(
        points.regressor,
        points.y,
        points.clusters(by),
        PLURAL[by],
        given=np.column_stack([*used.values()]),
        reason=no_relation(points),
    )
    return PartialCorrelation(found, tuple(used)[1:], left_out)


def _useless(values: Numbers, before: Regressors) -> str:
    """Why a column cannot be accounted for; "" where it can."""
    if unknown := int(np.isnan(values).sum()):
        return f"it is 0 or not known of {unknown} of the {len(values)} models"
    if not len(values) or is_constant(values):
        return "the same for all models"
    return "follows from those before it" if left_of(values, before)[1] < COLLINEAR else ""


def correlation_of(
    x: Numbers,
    y: Numbers,
    unit: Int[np.ndarray, " point"],
    of: str,
    method: Method = "pearson",
    *,
    given: Regressors | None = None,
    reason: str = "",
) -> Correlation:
    """Correlation of x and y, or of what regressors leave of both, their p corrected for that.

    Regressors are of full rank and span the constant. With them the interval over models is that of
    Fisher's z, whose variance is 1 / (df - 1), and else by leaving out each. Units are numbers from
    0, and `reason` says why there is no correlation where that is known.
    """
    n = len(x)
    used = 1 if given is None else given.shape[1]
    df = n - used - 1
    if not reason and df < 1:
        reason = f"{n} models leave no degree of freedom beside {used} regressors"
    for name, values in () if reason else (("x", x), ("y", y)):
        if left_of(values, given)[1] <= COLLINEAR**2:
            reason = f"nothing of {name} is left when the others are accounted for"
            break
    if reason:
        over_models, over_units = Range(n, "models", reason), Range(len(set(unit)), of, reason)
        return Correlation(method, n, over_models, over_units, reason)

    def statistic(kept: Bool[np.ndarray, " point"]) -> float:
        return correlation(x[kept], y[kept], method, None if given is None else given[kept])

    r = np.float64(statistic(np.ones(n, bool)))
    with np.errstate(divide="ignore"):  # of a perfect correlation
        p = float(2 * stats.t.sf(abs(r) * np.sqrt(df / (1 - r**2)), df))
        spread = 1.96 / np.sqrt(df - 1) if df > 1 else np.nan
        low, high = np.tanh(np.arctanh(r) + spread * np.array([-1, 1])).tolist()
    if given is None:
        over_models = jackknifed(statistic, np.arange(n), "models")
    else:
        over_models = Range(n, "models", low=low, high=high, p=p)
    over_units = jackknifed(statistic, unit, of)
    return Correlation(method, n, over_models, over_units, "", float(r), p)
