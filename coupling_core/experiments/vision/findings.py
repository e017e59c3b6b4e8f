"""Stochastic depth, coupling and accuracy over the runs of a suite: numbers, and sentences."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from coupling_core.analysis.scores import LEVEL, Interval, known_interval
from coupling_core.analysis.statistics import (
    Correlation,
    Points,
    correlate,
    correlation_of,
    model_means,
)
from coupling_core.base.errors import InputError
from coupling_core.base.records import Measure, VisionKind
from coupling_core.base.units import percent, rounded
from coupling_core.experiments.vision.rates import RateEffect, rate_effect
from coupling_core.experiments.vision.suite import SUITE, VisionSuite

COLUMNS = ("rate", "seed", "accuracy", "learned_accuracy", "coupling", "low", "high", "chance")
_WHERE: dict[VisionKind, str] = {
    "depth": "at the class token",
    "self": "between all tokens of a picture",
}


@dataclass(frozen=True, eq=False)
class VisionFindings:
    """What a sweep over a suite says.

    Args:
        table: of the sweep.
        k: singular triplets.
        measure: of coupling.
        kind: "depth" for the blocks at one token, "self" for each token with every other.
        suite: whose runs these are.
    """

    table: pd.DataFrame
    k: int
    measure: Measure = "corrected"
    kind: VisionKind = "depth"
    suite: VisionSuite = SUITE

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run, by rate and seed, with `COLUMNS`; intervals are over pictures."""
        of = {run.repo: run for run in self.suite.runs}
        rows = self.table[
            (self.table["kind"] == self.kind)
            & self.table["id"].isin(list(of))
            & self.table["revision"].isin(["", "main"])
        ]
        if rows.empty:
            raise InputError(f"no run of {self.suite.name} was measured {_WHERE[self.kind]}")
        means = model_means(rows, self.k, self.measure).rows
        found = [
            {
                "rate": of[row["id"]].rate,
                "seed": of[row["id"]].seed,
                "accuracy": of[row["id"]].accuracy(),
                "learned_accuracy": of[row["id"]].learned_accuracy(),
                **{name: row[name] for name in ("id", "coupling", "low", "high", "chance")},
                "pictures": row["prompts"],
            }
            for _, row in means.iterrows()
        ]
        numbers = dict.fromkeys(("accuracy", "learned_accuracy"), float)
        return pd.DataFrame(found).astype(numbers).sort_values(["rate", "seed"], ignore_index=True)

    def by_rate(self, column: str) -> dict[float, Interval]:
        """Mean of a column over the seeds of each rate, with its 95 % interval by Student's t."""
        rows = self.runs
        return {
            rate: known_interval(rows[column][rows["rate"] == rate].to_numpy(np.float64))
            for rate in rows["rate"].unique().tolist()
        }

    @cached_property
    def untrained(self) -> Interval:
        """Coupling of the same architecture before its first step, over seeds; n = 0 for none."""
        rows = self.table[(self.table["kind"] == self.kind) & (self.table["revision"] == "epoch0")]
        means = [
            model_means(of_one, self.k, self.measure).rows["coupling"].mean()
            for _, of_one in rows.groupby("id")
        ]
        return known_interval(np.array(means))

    @cached_property
    def of_coupling(self) -> RateEffect:
        """What the rate does to coupling."""
        return self._effect("coupling")

    @cached_property
    def of_accuracy(self) -> RateEffect:
        """What the rate does to accuracy."""
        return self._effect("accuracy")

    @cached_property
    def with_accuracy(self) -> Correlation:
        """Of accuracy with coupling, over runs, which the rate moves both of."""
        return correlate(self._points)

    @cached_property
    def within_rates(self) -> Correlation:
        """Of accuracy with coupling among runs of one rate; the interval is over whole seeds."""
        points, rows = self._points, self.runs.dropna(subset=["coupling", "accuracy"])
        rate = rows["rate"].to_numpy()
        each = (rate[:, None] == np.unique(rate)).astype(np.float64)
        seed = np.unique(rows["seed"], return_inverse=True)[1]
        return correlation_of(points.x, points.y, seed, "seeds", given=each)

    @property
    def shows(self) -> tuple[str, ...]:
        """What the numbers show, whichever way they fall."""
        return (
            f"Coupling {_WHERE[self.kind]} {self.of_coupling.told}. {self._means('coupling')}.",
            f"Accuracy on held-out pictures {self.of_accuracy.told}. {self._means('accuracy')}.",
            f"Accuracy and coupling: {_goes(self.with_accuracy, self.within_rates)}.",
        )

    @property
    def does_not_show(self) -> tuple[str, ...]:
        """What they cannot show."""
        seeds = self.runs["seed"].nunique()
        return (
            f"One small architecture on {self.suite.learned_words}, {seeds} seeds a rate: nothing "
            "is said of other sizes, data or lengths of training.",
            "Rates were set, so that a difference between rates beyond chance is caused by the "
            "rate; that coupling itself makes a model better does not follow.",
            "Runs of one seed begin with the same weights and see the images in the same order at "
            "every rate: rates are compared seed by seed, and p is that of this comparison. "
            f"Intervals are over the {seeds} seeds of one rate, and those of two rates move "
            "together.",
        )

    def _effect(self, column: str) -> RateEffect:
        rows = self.runs.dropna(subset=[column])
        return rate_effect(*(rows[name].to_numpy(np.float64) for name in ("rate", "seed", column)))

    def _means(self, column: str) -> str:
        means = self.by_rate(column)
        told = ", ".join(
            f"{rounded(one.mean) if column == 'coupling' else percent(one.mean, 1)} at {rate:g}"
            for rate, one in means.items()
        )
        return f"Mean over seeds by rate: {told}"

    @property
    def _points(self) -> Points:
        rows = self.runs.dropna(subset=["coupling", "accuracy"])
        names = {"coupling": "x", "accuracy": "y", "rate": "family", "id": "model"}
        rows = rows.rename(columns=names).assign(run=rows["id"])
        return Points("coupling", "accuracy", rows)


def _goes(over_runs: Correlation, within: Correlation) -> str:
    if over_runs.reason:
        return over_runs.reason
    told = (
        f"r = {rounded(over_runs.estimate, 2)} over all {over_runs.n} runs, which the rate alone "
        "could bring about if it moves both. Among runs of one rate"
    )
    if within.reason:
        return f"{told}: {within.reason}"
    told = f"{told} r = {rounded(within.estimate, 2)} ({within.over.told})"
    if within.over.reason:
        return told
    if within.over.p >= LEVEL:
        return f"{told}: not beyond chance"
    return f"{told}: accuracy {'rises' if within.estimate > 0 else 'falls'} with coupling"
