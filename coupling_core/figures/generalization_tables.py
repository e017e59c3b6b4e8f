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
    )

ABOUT = ["model", "family", "run", "step", "trained"]
OF_MEAN = ["low", "high", "chance", "prompts", "without"]
FOREST = ["row", "n", "estimate", "p", "low", "high", "outer_low", "outer_high", "reason"]


def over_models_table(means: "ModelMeans", x: str, y: str) -> "DataFrame":
    """Twin of the scatter: a row a model that has both numbers.

    Returns:
        columns model, family, run, step, trained, x, y and, where one of them is coupling, low,
        high, chance, prompts, without.
    """
    of_mean = OF_MEAN if "coupling" in (x, y) else []
    rows = means.rows.dropna(subset=[x, y])
    return rows[[*ABOUT, x, y, *of_mean]].reset_index(drop=True)


def fits_table(fits: Sequence["Fit"]) -> "DataFrame":
    """Twin of the fits: a row a fit."""
    from pandas import DataFrame

    return DataFrame(
        {
            "fit": found.form,
            "form": found.form,
            "n": found.n,
            "r_squared": found.r_squared,
            "r_squared_y": found.r_squared_y,
            "p": found.p,
            "intercept": found.intercept,
            "slope": found.slope,
            **_ends(found.over_models),
            "clustered_p": found.over_clusters.p,
            **_ends(found.over_clusters, "clustered_"),
            "reason": found.reason,
        }
        for found in fits
    )


def coupling_by_k_table(means: Mapping[int, "ModelMeans"]) -> "DataFrame":
    """Twin of coupling against K: a row a model and K that has a number."""
    from pandas import DataFrame, concat

    if not means:
        return DataFrame(columns=["model", "family", "trained", "k", "coupling", *OF_MEAN])
    rows = concat([found.rows for found in means.values()]).dropna(subset="coupling")
    wanted = rows[["model", "family", "trained", "k", "coupling", *OF_MEAN]]
    return wanted.sort_values(
        ["trained", "model", "k"], ascending=[False, True, True], kind="stable"
    ).reset_index(drop=True)


def correlation_by_k_table(found: Mapping[int, "Correlation"]) -> "DataFrame":
    """Twin of the correlation against K: a row a K, NaN and a reason where there is none."""
    from pandas import DataFrame

    columns = ["k", *FOREST[1:]]
    return DataFrame([{"k": k, **_correlation(one)} for k, one in found.items()], columns=columns)


def by_prompt_table(model: "PromptTrend", x_name: str) -> "DataFrame":
    """Twin of one model's prompts: columns prompt, the number of the prompt, coupling."""
    from pandas import DataFrame

    return DataFrame({"prompt": model.prompt, x_name: model.x, "coupling": model.coupling})


def trends_table(trends: "PromptTrends") -> "DataFrame":
    """Twin of the correlations within models: the mean over them, then a row a model."""
    told = sum(not model.reason for model in trends.models)
    mean = [f"mean of {counted(told, 'model')}", told, trends.mean, *_interval(trends.interval)]
    rows = [
        [one.model, len(one.x), one.spearman, *_interval(one.interval)] for one in trends.models
    ]
    return _forest([mean, *rows])


def without_families_table(found: "LeaveOneFamilyOut") -> "DataFrame":
    """Twin of the forest plot: all models, without each family, within and between families.

    Returns:
        columns row, n, estimate, p (over families), low and high (as if models were independent),
        outer_low and outer_high (over families), reason.
    """
    within, outer = found.within, found.within_families
    named = [
        ("all models", found.overall),
        *((f"without {name}", left) for name, left in found.without.items()),
    ]
    return _forest(
        [
            *([name, *_correlation(one).values()] for name, one in named),
            [
                *("within families", within.n, within.estimate, outer.p),
                *(within.low, within.high, outer.low, outer.high, within.reason),
            ],
            ["between families", *_correlation(found.between).values()],
        ]
    )


def _forest(rows: Iterable[Sequence[object]]) -> "DataFrame":
    from pandas import DataFrame

    return DataFrame(list(rows), columns=FOREST)


def _interval(over: "Range") -> tuple[object, ...]:
    return over.p, over.low, over.high, np.nan, np.nan, over.reason


def _correlation(found: "Correlation") -> dict[str, object]:
    return {
        "n": found.n,
        "estimate": found.estimate,
        "p": found.over_clusters.p,
        **_ends(found.over_models),
        **_ends(found.over_clusters, "outer_"),
        "reason": found.reason,
    }


def _ends(over: "Range", prefix: str = "") -> dict[str, float]:
    return {f"{prefix}low": over.low, f"{prefix}high": over.high}
