"""Named subsets of the models, among them those of the preprint's Table 4."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from coupling_core.analysis.statistics.means import ModelMeans
from coupling_core.base.records import ModelSubset


@dataclass(frozen=True)
class Subset:
    """Some of the models.

    Args:
        title: which, in words.
        keep: (rows of `ModelMeans`) -> (model), true where a model belongs to it.
        published: R^2 and p that the preprint's Table 4 reports of it; None where it has no such
            line. Its scores are benchmark scores, and its coupling the preprint's Eq. 14.
    """

    title: str
    keep: Callable[[pd.DataFrame], "pd.Series[bool]"]
    published: tuple[float, float] | None = None


def _last_of_run(rows: pd.DataFrame) -> "pd.Series[bool]":
    return rows["step"].isna() | (rows["step"] == rows.groupby("run")["step"].transform("max"))


SUBSETS: dict[ModelSubset, Subset] = {
    "all": Subset("all models", lambda rows: rows["model"].notna(), (0.75, 1.56e-6)),
    "7b": Subset(
        "7B models only", lambda rows: rows["parameters"].between(6.5e9, 7.5e9), (0.55, 0.023)
    ),
    "above-45": Subset("score > 45", lambda rows: rows["score"] > 45, (0.39, 0.023)),
    "trained": Subset("trained models only", lambda rows: rows["trained"]),
    "last": Subset("the last checkpoint of each training run", _last_of_run),
    "tokens-known": Subset(
        "models whose training tokens are known", lambda rows: rows["training_tokens"].notna()
    ),
}
"""By name. The first three are the preprint's Table 4; the others are ours."""


def subset(means: ModelMeans, name: ModelSubset) -> ModelMeans:
    """The models of a named subset; it may be empty."""
    kept = means.rows[SUBSETS[name].keep(means.rows)]
    return replace(means, rows=kept.reset_index(drop=True))
