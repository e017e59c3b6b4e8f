"""Stochastic depth, coupling and accuracy over the runs of a suite: numbers, and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from coupling_core.errors import InputError
from coupling_core.records import Measure, VisionKind
from coupling_core.scores import Interval
from coupling_core.statistics import (
    Correlation,
    Points,
    ResidualCorrelation,
    correlate,
    model_means,
    residual_correlation,
)
from coupling_core.vision.suite import SUITE, VisionSuite

LEVEL = 0.05
"""Below this a p is called significant."""
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
        """A row a run, by rate and seed, with `COLUMNS`; intervals are over pictures.

        Raises:
            InputError: where the table has none of these runs in this kind at this K.
        """
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
            rate: over_seeds(rows[column][rows["rate"] == rate].to_numpy(np.float64))
            for rate in rows["rate"].unique().tolist()
        }

    @cached_property
    def untrained(self) -> Interval:
        """Coupling of the same architecture before its first step, over seeds; n = 0 for none."""
        rows = self.table[(self.table["kind"] == self.kind) & (self.table["revision"] == "epoch0")]
        if rows.empty:
            return over_seeds(np.array([]))
        means = [
            model_means(of_one, self.k, self.measure).rows["coupling"].mean()
            for _, of_one in rows.groupby("id")
        ]
        return over_seeds(np.array(means))

    @cached_property
    def with_rate(self) -> Correlation:
        """Of coupling with the rate, over runs."""
        return correlate(self._points("rate", "coupling"))

    @cached_property
    def with_accuracy(self) -> Correlation:
        """Of accuracy with coupling, over runs."""
        return correlate(self._points("coupling", "accuracy"))

    @cached_property
    def rate_with_accuracy(self) -> Correlation:
        """Of accuracy with the rate, over runs."""
        return correlate(self._points("rate", "accuracy"))

    @cached_property
    def within_rates(self) -> ResidualCorrelation:
        """Of accuracy with coupling among the runs of one rate, all rates together."""
        points = self._points("coupling", "accuracy")
        rates = np.array([float(rate) for rate in points.family])
        each = (rates[:, None] == np.unique(rates)).astype(np.float64)
        return residual_correlation(points.x, points.y, each)

    @property
    def shows(self) -> tuple[str, ...]:
        """What the numbers show, whichever way they fall."""
        n = len(self.runs)
        rates = self.by_rate("coupling")
        first, last = min(rates), max(rates)
        return (
            f"Coupling {_WHERE[self.kind]} {_goes(self.with_rate, 'with the rate')} over {n} runs: "
            f"{_number(rates[first].mean)} at rate {first:g} and {_number(rates[last].mean)} at "
            f"rate {last:g}.",
            f"Accuracy on held-out pictures {_goes(self.rate_with_accuracy, 'with the rate')}.",
            f"Accuracy {_goes(self.with_accuracy, 'with coupling')} over all runs, and among runs "
            f"of one rate {_goes_within(self.within_rates)}.",
        )

    @property
    def does_not_show(self) -> tuple[str, ...]:
        """What they cannot show."""
        rows = self.runs
        seeds = rows["seed"].nunique()
        return (
            f"One small architecture on {self.suite.learned_words}, {seeds} seeds a rate: nothing "
            "is said of other sizes, data or lengths of training.",
            "Rates were set and seeds drawn, so that a difference between rates is caused by the "
            "rate; that coupling itself makes a model better does not follow.",
            f"An interval over {seeds} seeds is wide, and the p of correlations takes runs of one "
            "rate for independent of each other.",
        )

    def _points(self, x: str, y: str) -> Points:
        rows = self.runs.dropna(subset=[x, y])
        rates = tuple(f"{rate:g}" for rate in rows["rate"])
        first, second = (rows[name].to_numpy(np.float64) for name in (x, y))
        names = tuple(rows["id"])
        return Points(x, y, first, second, model=names, family=rates, run=names)


def over_seeds(values: Float[np.ndarray, " seed"]) -> Interval:
    """Mean with its 95 % interval by Student's t: seeds are few, and resampling fails them."""
    known = values[np.isfinite(values)]
    n = len(known)
    if not n:
        return Interval(np.nan, np.nan, np.nan, np.nan, 0)
    mean = float(known.mean())
    half = float(stats.t.ppf(0.975, n - 1) * stats.sem(known)) if n > 1 else np.nan
    return Interval(mean, float(np.median(known)), mean - half, mean + half, n)


def every_k(table: pd.DataFrame, kinds: Sequence[str] = ("depth",)) -> tuple[int, ...]:
    """The K at which a table has scores of these kinds, rising."""
    rows = table[table["kind"].isin(list(kinds))]
    return tuple(int(k) for k in np.sort(rows["k"].dropna().unique()))


def _goes(found: Correlation, what: str) -> str:
    if found.reason:
        return f"has no correlation {what} ({found.reason})"
    told = f"r = {_number(found.estimate, 2)}, p = {found.p:.2g}, n = {found.n}"
    if found.p >= LEVEL:
        return f"does not go {what} beyond chance ({told})"
    return f"{'rises' if found.estimate > 0 else 'falls'} {what} ({told})"


def _goes_within(found: ResidualCorrelation) -> str:
    if found.reason:
        return f"nothing can be said ({found.reason})"
    told = (
        f"partial r = {_number(found.estimate, 2)} "
        f"[{_number(found.low, 2)}, {_number(found.high, 2)}], p = {found.p:.2g}"
    )
    if found.p >= LEVEL:
        return f"it does not go with it beyond chance ({told})"
    return f"it {'rises' if found.estimate > 0 else 'falls'} with it ({told})"


def _number(value: float, digits: int = 3) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}"
