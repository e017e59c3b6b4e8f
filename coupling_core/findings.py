"""What the table of a sweep says of coupling and performance: the numbers, and plain sentences.

The page and the report ask here, so that both say the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from coupling_core import statistics
from coupling_core.errors import InputError
from coupling_core.records import (
    METHODS,
    PERFORMANCES,
    Measure,
    Method,
    ModelSubset,
    Performance,
    PromptNumber,
)
from coupling_core.statistics import (
    SIZES,
    SUBSETS,
    ClusterBy,
    Correlation,
    Fit,
    LeaveOneFamilyOut,
    ModelMeans,
    PartialCorrelation,
    Points,
    PromptTrends,
)

LEVEL = 0.05
"""Below this a p is called significant."""
_EXPECTED: dict[Performance, int] = {"loss": -1, "score": 1}
"""Sign of the correlation where better models are more coupled."""
_NAMES: dict[Performance, str] = {"loss": "held-out loss", "score": "leaderboard score"}
_MEASURES: dict[Measure, str] = {
    "corrected": "mean chance-corrected score",
    "coupling": "mean score c",
    "alignment": "mean alignment",
}


@dataclass(frozen=True)
class Question:
    """What is asked of a table.

    Args:
        k: singular triplets, or below 1 their share of each model's width.
        measure: of coupling.
        against: which performance.
        subset: of the models, one of `SUBSETS`.
        method: of correlation.
    """

    k: float
    measure: Measure = "corrected"
    against: Performance = "loss"
    subset: ModelSubset = "all"
    method: Method = "pearson"


@dataclass(frozen=True, eq=False)
class Findings:
    """The answer.

    Args:
        table: of a sweep, its depth-wise rows.
        question: what was asked.
    """

    table: pd.DataFrame
    question: Question

    @cached_property
    def means(self) -> ModelMeans:
        """Coupling of every model of the subset."""
        asked = self.question
        found = statistics.model_means(self.table, _k(asked.k), asked.measure)
        return statistics.subset(found, asked.subset)

    @cached_property
    def points(self) -> Points:
        """Coupling and performance of those that have both."""
        return statistics.pair(self.means, "coupling", self.question.against)

    @cached_property
    def by(self) -> ClusterBy:
        """What is resampled as a whole: training runs where checkpoints are among the models."""
        return "run" if len(set(self.points.run)) < len(self.points) else "family"

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """A straight line and an exponential."""
        forms: tuple[statistics.Form, ...] = ("linear", "exponential")
        return tuple(statistics.fit(self.points, form, by=self.by) for form in forms)

    @cached_property
    def correlations(self) -> dict[Method, Correlation]:
        """Pearson's and Spearman's."""
        return {each: statistics.correlate(self.points, each, by=self.by) for each in METHODS}

    @cached_property
    def families(self) -> LeaveOneFamilyOut:
        """The correlation without each family."""
        return statistics.leave_one_family_out(self.points, self.question.method)

    @cached_property
    def partial(self) -> PartialCorrelation:
        """The correlation given the models' sizes."""
        return statistics.partial_correlation(
            self.means, self.question.against, given=SIZES, by=self.by
        )

    @cached_property
    def by_k(self) -> dict[int, ModelMeans]:
        """Coupling of the subset's models at every K of the table."""
        found = statistics.means_by_k(self.table, self.question.measure)
        return {k: statistics.subset(means, self.question.subset) for k, means in found.items()}

    @cached_property
    def correlations_by_k(self) -> dict[int, Correlation]:
        """The correlation at every K."""
        asked = self.question
        return statistics.correlations_by_k(self.by_k, asked.against, asked.method, by=self.by)

    def trends(self, x: PromptNumber, *, last: bool = False) -> PromptTrends:
        """Coupling against length or difficulty of the prompts, within the subset's models.

        Args:
            x: which.
            last: of each training run only the last checkpoint: its others are hardly independent.
        """
        means = statistics.subset(self.means, "last") if last else self.means
        rows = self.table[self.table["model"].isin(means.rows["model"])]
        return statistics.prompt_trends(rows, x, _k(self.question.k), self.question.measure)

    @property
    def shows(self) -> tuple[str, ...]:
        """What can be said, a sentence or two each."""
        found = self.correlations[self.question.method]
        if found.reason:
            return (f"Nothing on coupling and {self.performance}: {found.reason}.",)
        return (
            self._correlation(found),
            self._agreement(found),
            self._course(),
            self._lines(),
            self.families.verdict,
            self._given(),
        )

    @property
    def does_not_show(self) -> tuple[str, ...]:
        """What must not be concluded."""
        if self.correlations[self.question.method].reason:
            return ()
        told = [self.points.counted]
        if self.by == "run":
            told.append(
                "Over checkpoints, coupling and performance both change with training: a "
                "correlation says that they change together, not that one makes the other."
            )
        if self.question.against == "loss":
            told.append(
                "A held-out loss can be compared only between models that read the same text with "
                "the same vocabulary; models without such a loss are left out."
            )
        if self.question.against == "loss" or self.by == "run":
            told.append(
                "It is no reproduction of the papers' Figure 1a, whose points are models that "
                "others trained, of up to 70 billion parameters, with their scores on benchmarks."
            )
        return tuple(told)

    def doubts(self, plan: Mapping[str, object]) -> tuple[str, ...]:
        """What is wrong with the numbers, where anything is.

        Args:
            plan: what was to be measured, as `Plan.described` or as a journal has it.
        """
        told = []
        rows = len(self.table)
        if failed := int((self.table["certified"].astype(str) == "False").sum()):
            told.append(f"{failed} of {rows} rows rest on an SVD that failed its certificate")
        if without := int(self.means.rows["without"].sum()):
            told.append(f"{without} scores are undefined and are left out of the means")
        total, kinds = plan.get("total"), plan.get("kinds")
        if isinstance(total, int) and isinstance(kinds, list | tuple) and "depth" in kinds:
            expected, measured = total // len(kinds), self.table["key"].nunique()
            if measured < expected:
                told.append(f"{expected - measured} of {expected} measurements are missing")
        return tuple(told)

    @property
    def performance(self) -> str:
        """The performance in words."""
        return _NAMES[self.question.against]

    @property
    def measure(self) -> str:
        """The measure of coupling in words."""
        return f"{_MEASURES[self.question.measure]} at {self.means.k_name}"

    def _correlation(self, found: Correlation) -> str:
        name = "r" if found.method == "pearson" else "rho"
        over, whole = found.over_models, found.over_clusters
        intervals = [f"{over.low:.2f} to {over.high:.2f} over models"] * (not over.reason)
        intervals += [f"{whole.low:.2f} to {whole.high:.2f} over whole {whole.of}"] * (
            not whole.reason
        )
        told = f" (95 %: {'; '.join(intervals)})" if intervals else ""
        lacking = f"; no interval over whole {whole.of}, {whole.reason}" if whole.reason else ""
        return (
            f"Over n = {found.n} models, {self.measure} and {self.performance} correlate with "
            f"{name} = {found.estimate:.2f}{told}, p = {found.p:.2g} as if they were "
            f"independent{lacking}."
        )

    def _agreement(self, found: Correlation) -> str:
        expected = _EXPECTED[self.question.against]
        sign = "negative" if expected < 0 else "positive"
        if not found.p < LEVEL:
            return (
                "That is neither for nor against the claim that better models are more coupled, "
                f"which asks for a {sign} correlation."
            )
        agrees = np.sign(found.estimate) == expected
        verdict = "agrees with" if agrees else "goes against"
        return (
            f"Its sign {verdict} the claim that better models are more coupled, which asks for a "
            f"{sign} correlation."
        )

    def _course(self) -> str:
        """Whether coupling keeps rising to the end of training, as performance does."""
        rows = self.means.rows
        courses = [run.sort_values("step") for _, run in rows.groupby("run") if len(run) > 1]
        courses = [run.dropna(subset=["coupling"]) for run in courses]
        peaks = [(run, int(run["coupling"].to_numpy().argmax())) for run in courses if len(run) > 1]
        past = [(run, at) for run, at in peaks if at < len(run) - 1]
        if not past:
            return ""
        steps = sorted({int(run["step"].iloc[at]) for run, at in past})
        tops, ends = (
            [float(run["coupling"].iloc[at]) for run, at in picked]
            for picked in (past, [(run, -1) for run, _ in past])
        )
        where = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
        return (
            f"In {len(past)} of {len(peaks)} training runs coupling is highest before the end (at "
            f"{where}, {np.mean(tops):.3f} on average) and lower at the last checkpoint "
            f"({np.mean(ends):.3f}): after its peak it falls while training goes on, so that no "
            "straight line describes such a run."
        )

    def _lines(self) -> str:
        told = [
            f"{one.form} R² = {one.r_squared_y:.2f} (p = {one.p:.2g})"
            for one in self.fits
            if not one.reason
        ]
        return f"Fits, in units of the {self.performance}: {', '.join(told)}." if told else ""

    def _given(self) -> str:
        partial = self.partial.partial
        given = ", ".join(self.partial.given).replace("_", " ")
        if not self.partial.given:
            return "No size of these models is known and varies, so that none is accounted for."
        if partial.reason:
            return f"Given {given}: {partial.reason}."
        left_out = (f"{n}: {why}" for n, why in self.partial.left_out.items())
        left = f" ({'; '.join(left_out)})".replace("_", " ")
        return (
            f"Given {given}, the correlation (Pearson's) is "
            f"{partial.estimate:.2f} (p = {partial.p:.2g}, {partial.df} degrees of freedom)"
            f"{left if self.partial.left_out else ''}."
        )


def find(table: pd.DataFrame, question: Question) -> Findings:
    """Ask a table.

    Raises:
        InputError: where it has no depth-wise row at this K, or no model is in the subset.
    """
    rows = table[table["kind"] == "depth"]
    if rows.empty:
        raise InputError(
            "the sweep has no depth-wise result: run it (`coupling sweep run`), or look at the "
            "numbers of its other kinds in its table (.csv)"
        )
    found = Findings(rows, question)
    if found.means.rows.empty:
        raise InputError(f"no model is left: {SUBSETS[question.subset].title}")
    return found


def every_k(table: pd.DataFrame, asked: Iterable[float] = ()) -> tuple[float, ...]:
    """The K at which every model of a table that has depth-wise rows was measured.

    Args:
        table: of a sweep.
        asked: the K of its file, of which those below 1 are shares of each model's width.

    Returns:
        whole numbers, rising, and then shares.
    """
    rows = table[table["kind"] == "depth"]
    of_model = [set(each["k"].astype(float)) for _, each in rows.groupby("model")]
    shared = set.intersection(*of_model) if of_model else set()
    shares = sorted(k for k in asked if k < 1) if of_model else []
    return (*sorted(shared), *shares)


def performances(table: pd.DataFrame) -> tuple[Performance, ...]:
    """Those that at least one model of a table has."""
    return tuple(name for name in PERFORMANCES if table[name].notna().any())


def _k(k: float) -> int | float:
    """A whole number as one, whoever wrote it with a point."""
    return int(k) if float(k).is_integer() else k
