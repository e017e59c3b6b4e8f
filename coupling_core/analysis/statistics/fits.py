"""Fits of one number of models against another: straight lines and exponentials."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from jaxtyping import Float
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from coupling_core.analysis.statistics.points import (
    NAMES,
    PLURAL,
    ClusterBy,
    Points,
    no_relation,
)
from coupling_core.analysis.statistics.resampling import Range, jackknifed, no_range, slopes

Form = Literal["linear", "exponential"]
STEPS = 100
"""Points at which a fitted curve is given."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit of y against x by ordinary least squares (Figure 1a; Figure 8; Table 4).

        linear         y    = intercept + slope u
        exponential    ln y = intercept + slope u,  so  y = exp(intercept) exp(slope u)

    with u = x, or log10 x where `log_x`. The papers call Figure 8 an exponential fit and say no
    more of it; this one has no offset, so that slope, p and interval are those of a straight line.

    Args:
        form: "linear" or "exponential".
        x_name: column regressed on.
        y_name: column explained.
        log_x: whether u = log10 x.
        n: number of models.
        intercept: of the line, in units of y, or of ln y.
        slope: of the line, in units of y (or of ln y) per unit of u.
        r_squared: share of the variance of y, or of ln y, that the line explains; p goes with it.
        r_squared_y: the same in units of y, 1 - SS_residual / SS_total: it compares the two forms.
        p: two-sided t test of slope 0, as if all models were independent, which the papers have.
        over_models: 95 % interval of the slope by the same t distribution.
        over_clusters: 95 % interval and p of the slope over whole families (or training runs),
            which stay honest where members of one are alike.
        x: (step) where the curve is given, from the smallest to the largest x.
        y: (step) the curve.
        low: (step) lower end of the 95 % band of the curve, as if models were independent.
        high: (step) its upper end.
        reason: why there is no fit; "" where there is one.
    """

    form: Form
    x_name: str
    y_name: str
    log_x: bool
    n: int
    intercept: float
    slope: float
    r_squared: float
    r_squared_y: float
    p: float
    over_models: Range
    over_clusters: Range
    x: Float[np.ndarray, " step"]
    y: Float[np.ndarray, " step"]
    low: Float[np.ndarray, " step"]
    high: Float[np.ndarray, " step"]
    reason: str = ""


def fit(points: Points, form: Form = "linear", *, by: ClusterBy = "family") -> Fit:
    """Fit y against x over models.

    Args:
        points: two numbers of each model.
        form: a straight line, or an exponential.
        by: what is left out as a whole for `Fit.over_clusters`.
    """
    reason = no_relation(points)
    if not reason and form == "exponential" and points.y.min() <= 0:
        reason = f"an exponential needs a positive {NAMES[points.y_name]}, and one model has none"
    if reason:
        return _no_fit(points, form, by, reason)
    y = np.log(points.y) if form == "exponential" else points.y
    back = np.exp if form == "exponential" else np.positive
    found = OLS(y, add_constant(points.regressor)).fit()
    ends = points.x.min(), points.x.max()
    x = np.geomspace(*ends, STEPS) if points.log_x else np.linspace(*ends, STEPS)
    curve = found.get_prediction(add_constant(np.log10(x) if points.log_x else x))
    low, high = curve.conf_int().T
    of_slope = found.conf_int()[1]
    residual = points.y - back(found.fittedvalues)
    return replace(
        _no_fit(points, form, by),
        intercept=float(found.params[0]),
        slope=float(found.params[1]),
        r_squared=float(found.rsquared),
        r_squared_y=float(1 - residual @ residual / np.sum((points.y - points.y.mean()) ** 2)),
        p=float(found.pvalues[1]),
        over_models=Range(
            float(of_slope[0]), float(of_slope[1]), float(found.pvalues[1]), len(points), "models"
        ),
        over_clusters=jackknifed(
            partial(slopes, points.regressor, y),
            points.clusters(by),
            PLURAL[by],
            is_correlation=False,
        ),
        x=x,
        y=back(curve.predicted),
        low=back(low),
        high=back(high),
    )


def _no_fit(points: Points, form: Form, by: ClusterBy, reason: str = "") -> Fit:
    """What is known before, or without, a fit."""
    nothing = np.empty(0)
    return Fit(
        form=form,
        x_name=points.x_name,
        y_name=points.y_name,
        log_x=points.log_x,
        n=len(points),
        intercept=np.nan,
        slope=np.nan,
        r_squared=np.nan,
        r_squared_y=np.nan,
        p=np.nan,
        over_models=no_range(len(points), "models", reason),
        over_clusters=no_range(len(set(points.clusters(by))), PLURAL[by], reason),
        x=nothing,
        y=nothing,
        low=nothing,
        high=nothing,
        reason=reason,
    )
