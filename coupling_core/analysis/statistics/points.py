"""Two numbers of each model, paired: what a fit or a correlation is over, and what its n counts."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from coupling_core.analysis.statistics.means import ModelMeans
from coupling_core.analysis.statistics.resampling import unrelated
from coupling_core.base.records import MODEL_SIZES
from coupling_core.base.units import counted
from coupling_core.base.wording import paragraph

ClusterBy = Literal["family", "run"]
PLURAL: dict[ClusterBy, str] = {"family": "families", "run": "training runs"}
NAMES = {
    "coupling": "coupling",
    "loss": "loss",
    "score": "score",
    "parameters": "number of parameters",
    "layers": "number of blocks",
    "width": "width",
    "training_tokens": "number of training tokens",
    "rate": "rate of stochastic depth",
    "accuracy": "accuracy",
}
"""Columns in words, as reasons name them."""


@dataclass(frozen=True, eq=False)
class Points:
    """Two columns of `ModelMeans.rows` as `x` and `y`, of the models that have both.

    The rows have `model`, `family` and `run` too: a model that is in no training run is its own.
    """

    x_name: str
    y_name: str
    rows: pd.DataFrame

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def x(self) -> Float[np.ndarray, " point"]:
        """The first number of each."""
        return self.rows["x"].to_numpy(np.float64)

    @property
    def y(self) -> Float[np.ndarray, " point"]:
        """The second."""
        return self.rows["y"].to_numpy(np.float64)

    @property
    def log_x(self) -> bool:
        """Whether x is regressed on as log10 x."""
        return self.x_name in MODEL_SIZES and spans_decades(self.x)

    @property
    def regressor(self) -> Float[np.ndarray, " point"]:
        """x, or log10 x, as it goes into a straight line."""
        return np.log10(self.x) if self.log_x else self.x

    def clusters(self, by: ClusterBy) -> Int[np.ndarray, " point"]:
        """The number, from 0, of each point's family or training run."""
        return pd.factorize(self.rows[by])[0].astype(np.int64)

    def keep(self, which: "pd.Series[bool]") -> "Points":
        """The points where a mask is true."""
        return replace(self, rows=self.rows[which])

    @property
    def counted(self) -> str:
        """What n counts, and why it is more than what is independent."""
        sizes = self.rows["run"].value_counts()
        several = sizes[sizes > 1]
        checkpoints, families = int(several.sum()), self.rows["family"].nunique()
        alone = len(self) - checkpoints
        of_runs = "each with weights of its own"
        if checkpoints:
            runs = counted(len(several), "training run")
            of_runs = f"{counted(checkpoints, 'checkpoint')} of {runs}"
            of_runs += f" and {counted(alone, 'model')} of no run" * bool(alone)
        return paragraph(
            f"n = {len(self)} counts models: {of_runs}, of {counted(families, 'family')}.",
            (
                families < len(self),
                "Checkpoints of one run are alike, and so are models of one family: there is less "
                "evidence here than the number of models suggests.",
            ),
        )


def pair(means: ModelMeans, x: str, y: str) -> Points:
    """Two columns of the models' means as points; a model that lacks one is left out."""
    rows = means.rows.assign(x=means.rows[x], y=means.rows[y])
    known = np.isfinite(rows[["x", "y"]].to_numpy(np.float64)).all(axis=1)
    return Points(x, y, rows[["x", "y", "model", "family", "run"]][known])


def spans_decades(values: Float[np.ndarray, " point"]) -> bool:
    """Whether positive numbers span an order of magnitude, so that their logarithm is looked at."""
    return bool(values.size and values.min() > 0 and values.max() >= 10 * values.min())


def no_relation(points: Points) -> str:
    """Why two numbers have neither fit nor correlation; "" where they have."""
    return unrelated({NAMES[points.x_name]: points.x, NAMES[points.y_name]: points.y}, "model")
