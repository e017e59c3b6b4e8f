"""The same numbers as the figures over many models, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.base.units import counted

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

    from coupling_core.analysis.statistics import (
        Correlation,
        Fit,
        LeaveOneFamilyOut,
        ModelMeans,
        PromptTrend,
        PromptTrends,
        Range,
        ResidualCorrelation,
    )

ABOUT = ["model", "family", "run", "step", "trained"]
OF_MEAN = ["low", "high", "chance", "prompts", "without"]
FOREST = ["row", "n", "estimate", "p", "low", "high", "outer_low", "outer_high", "reason"]


def over_models_table(means: "ModelMeans", x: str, y: str) -> "DataFrame":
    """Twin of the scatter: a row a model that has both numbers, with the interval of coupling."""
    of_mean = OF_MEAN if "coupling" in (x, y) else []
    rows = means.rows.dropna(subset=[x, y])
    return rows[[*ABOUT, x, y, *of_mean]].reset_index(drop=True)


def fits_table(fits: Sequence["Fit"]) -> "DataFrame":
    """Twin of the fits: a row a fit."""
    from pandas import DataFrame

    return DataFrame(
        {
            "fit": fit.form,
            "form": fit.form,
            "n": fit.n,
            "r_squared": fit.r_squared,
            "r_squared_y": fit.r_squared_y,
            "p": fit.p,
            "intercept": fit.intercept,
            "slope": fit.slope,
            "low": fit.over_models.low,
            "high": fit.over_models.high,
            "clustered_p": fit.over_clusters.p,
            "clustered_low": fit.over_clusters.low,
            "clustered_high": fit.over_clusters.high,
            "reason": fit.reason,
        }
        for fit in fits
    )


def coupling_by_k_table(means: Mapping[int, "ModelMeans"]) -> "DataFrame":
    """Twin of coupling against K: a row a model and K that has a number."""
    from pandas import DataFrame, concat

    columns = ["model", "family", "trained", "k", "coupling", *OF_MEAN]
    rows = [found.rows for found in means.values()] or [DataFrame(columns=columns)]
    wanted, order = concat(rows).dropna(subset="coupling")[columns], ["trained", "model", "k"]
    rising = [False, True, True]
    return wanted.sort_values(order, ascending=rising, kind="stable", ignore_index=True)


def correlation_by_k_table(found: Mapping[int, "Correlation"]) -> "DataFrame":
    """Twin of the correlation against K: a row a K, NaN and a reason if there is none."""
    return _forest(_correlation(k, one) for k, one in found.items()).rename(columns={"row": "k"})


def by_prompt_table(model: "PromptTrend", x_name: str) -> "DataFrame":
    """Twin of one model's prompts: columns prompt, the number of the prompt, coupling."""
    from pandas import DataFrame

    return DataFrame({"prompt": model.prompt, x_name: model.x, "coupling": model.coupling})


def trends_table(trends: "PromptTrends") -> "DataFrame":
    """Twin of the correlations within models: the mean over them, then a row a model."""
    n, over = sum(not model.reason for model in trends.models), trends.interval
    return _forest(
        [
            _row(f"mean of {counted(n, 'model')}", n, trends.mean, over, None, over.reason),
            *(
                _row(one.model, len(one.x), one.spearman, one.interval, None, one.interval.reason)
                for one in trends.models
            ),
        ]
    )


def without_families_table(found: "LeaveOneFamilyOut") -> "DataFrame":
    """Twin of the forest plot: all models, without each family, within and between families.

    p, outer_low and outer_high are over families; low and high as if models were independent.
    """
    within, over = found.within, found.within_families
    return _forest(
        [
            _correlation("all models", found.overall),
            *(_correlation(f"without {name}", left) for name, left in found.without.items()),
            _row("within families", within.n, within.estimate, within, over, within.reason),
            _correlation("between families", found.between),
        ]
    )


def _forest(rows: Iterable[Sequence[object]]) -> "DataFrame":
    from pandas import DataFrame

    return DataFrame(list(rows), columns=FOREST)


def _correlation(name: object, found: "Correlation") -> tuple[object, ...]:
    over = found.over_clusters
    return _row(name, found.n, found.estimate, found.over_models, over, found.reason)


def _row(
    name: object,
    n: int,
    estimate: float,
    inner: "Range | ResidualCorrelation",
    outer: "Range | None",
    reason: str,
) -> tuple[object, ...]:
    """A row of a forest: an estimate, the interval over models and the one over families."""
    ends = (outer.low, outer.high) if outer else (np.nan, np.nan)
    return name, n, estimate, (outer or inner).p, inner.low, inner.high, *ends, reason
