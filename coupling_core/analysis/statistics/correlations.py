"""Correlation over models, with intervals over models and over whole families or runs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coupling_core.analysis.statistics.means import ModelMeans
from coupling_core.analysis.statistics.points import PLURAL, ClusterBy, Points, no_relation, pair
from coupling_core.analysis.statistics.resampling import Range, correlations, jackknifed
from coupling_core.base.records import Method


@dataclass(frozen=True)
class Correlation:
    """How two numbers of models go together.

    Args:
        method: "pearson" (r, of straight lines) or "spearman" (rho, of ranks).
        n: number of models.
        over_models: 95 % interval as if all models were independent.
        over_clusters: 95 % interval and p over whole families (or training runs), which stay
            honest where members of one are alike.
        reason: why there is no correlation; "" where there is one.
        estimate: the coefficient, -1..1; NaN where there is none.
        p: two-sided, of no correlation, as if all models were independent, which published tables
            have: it is too small where models of one family are alike, and no sentence rests on it.
    """

    method: Method
    n: int
    over_models: Range
    over_clusters: Range
    reason: str = ""
    estimate: float = np.nan
    p: float = np.nan


def correlate(
    points: Points, method: Method = "pearson", *, by: ClusterBy = "family"
) -> Correlation:
    """Correlation of x and y over models (Figure 1a); of log10 x where `points.log_x`."""
    unit = points.clusters(by)
    n, n_clusters = len(points), len(set(unit))
    if reason := no_relation(points):
        none = Range(n, "models", reason), Range(n_clusters, PLURAL[by], reason)
        return Correlation(method, n, *none, reason)
    x, y = points.regressor, points.y
    found = stats.pearsonr(x, y) if method == "pearson" else stats.spearmanr(x, y)

    def statistic(weights: np.ndarray) -> np.ndarray:
        return correlations(x, y, weights, method)

    return Correlation(
        method,
        n,
        jackknifed(statistic, np.arange(n), "models"),
        jackknifed(statistic, unit, PLURAL[by]),
        estimate=float(found.statistic),
        p=float(found.pvalue),
    )


def correlations_by_k(
    means: Mapping[int, ModelMeans], y: str, method: Method = "pearson", *, by: ClusterBy = "family"
) -> dict[int, Correlation]:
    """Correlation of coupling and y ("loss" or "score") at every K (preprint, section 5.4)."""
    return {k: correlate(pair(found, "coupling", y), method, by=by) for k, found in means.items()}
