"""Fits of one number of models against another: straight lines and exponentials."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from coupling_core.analysis.statistics.points import NAMES, PLURAL, ClusterBy, Points, no_relation
from coupling_core.analysis.statistics.resampling import Range, coefficient, jackknifed

Form = Literal["linear", "exponential"]
STEPS = 100
"""Points at which a fitted curve is given."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit of y against x by ordinary least squares (Figure 1a; Figure 8; Table 4).

        linear         y    = intercept + slope u
        exponential    ln y = intercept + slope u,  so  y = exp(intercept) exp(slope u)

    with u = x, or log10 x where `points.log_x`. The papers call Figure 8 an exponential fit and say
    no more of it; this one has no offset, so that slope, p and interval are those of a straight
    line.

    Args:
        form: "linear" or "exponential".
        n: number of models.
        over_models: interval of the slope by the t distribution of p.
        over_clusters: over whole families (or training runs), which stays honest where members of
            one are alike.
        reason: why there is no fit, and the numbers are NaN; "" where there is one.
        intercept, slope: of the line, in units of y, or of ln y.
        r_squared: share of the variance of y, or of ln y, that the line explains; p goes with it.
        r_squared_y: the same in units of y, 1 - SS_residual / SS_total: it compares the two forms.
        p: two-sided t test of slope 0, as if all models were independent, which the papers have.
        x, y: (step) the curve, from the smallest to the largest x.
        low, high: (step) its 95 % band, as if models were independent.
    """

    form: Form
    n: int
    over_models: Range
    over_clusters: Range
    reason: str = ""
    intercept: float = np.nan
    slope: float = np.nan
    r_squared: float = np.nan
    r_squared_y: float = np.nan
    p: float = np.nan
    x: Float[np.ndarray, " step"] = field(default_factory=lambda: np.empty(0))
    y: Float[np.ndarray, " step"] = field(default_factory=lambda: np.empty(0))
    low: Float[np.ndarray, " step"] = field(default_factory=lambda: np.empty(0))
    high: Float[np.ndarray, " step"] = field(default_factory=lambda: np.empty(0))

    @property
    def told(self) -> str:
        """How well it describes y, in units of y, so that two forms compare."""
        p = "" if self.over_clusters.reason else f", {self.over_clusters.p_told}"
        return f"{self.form}: R² = {self.r_squared_y:.2f}{p}, n = {self.n}"


def fit(points: Points, form: Form = "linear", *, by: ClusterBy = "family") -> Fit:
    """Fit y against x over models; `by` is what is left out as a whole for `over_clusters`."""
    n, unit = len(points), points.clusters(by)
    reason = no_relation(points)
    if not reason and form == "exponential" and points.y.min() <= 0:
        reason = f"an exponential needs a positive {NAMES[points.y_name]}, and one model has none"
    if reason:
        over_clusters = Range(len(set(unit)), PLURAL[by], reason)
        return Fit(form, n, Range(n, "models", reason), over_clusters, reason)
    is_exponential = form == "exponential"
    u, y = points.regressor, np.log(points.y) if is_exponential else points.y
    back: np.ufunc = np.exp if is_exponential else np.positive
    found = OLS(y, add_constant(u)).fit()
    ends = points.x.min(), points.x.max()
    x = np.geomspace(*ends, STEPS) if points.log_x else np.linspace(*ends, STEPS)
    curve = found.get_prediction(add_constant(np.log10(x) if points.log_x else x))
    low, high = curve.conf_int().T
    slope_low, slope_high = map(float, found.conf_int()[1])
    residual = points.y - back(found.fittedvalues)
    p = float(found.pvalues[1])
    over_clusters = jackknifed(
        lambda kept: coefficient(u[kept], y[kept]), unit, PLURAL[by], is_correlation=False
    )
    return Fit(
        form,
        n,
        Range(n, "models", low=slope_low, high=slope_high, p=p),
        over_clusters,
        intercept=float(found.params[0]),
        slope=float(found.params[1]),
        r_squared=float(found.rsquared),
        r_squared_y=float(1 - residual @ residual / np.sum((points.y - points.y.mean()) ** 2)),
        p=p,
        x=x,
        y=back(curve.predicted),
        low=back(low),
        high=back(high),
    )
