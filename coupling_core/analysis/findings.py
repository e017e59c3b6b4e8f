"""What the table of a sweep shows of coupling and performance: one source for page and report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd

from coupling_core.analysis import sentences, statistics
from coupling_core.analysis.scores import MIN_NUMBERS
from coupling_core.base import wording
from coupling_core.base.drawing import Drawing
from coupling_core.base.errors import InputError
from coupling_core.base.notebook import Plottable, Table
from coupling_core.base.records import (
    METHODS,
    PERFORMANCES,
    Measure,
    Method,
    ModelSubset,
    Performance,
    PromptNumber,
    record,
)
from coupling_core.base.units import counted


@record
class Question:
    """What is asked of a table.

    Args:
        k: singular triplets, or below 1 their share of each model's width.
        measure: of coupling.
        against: which performance.
        subset: of the models, one of `SUBSETS`.
        method: of correlation.

    Raises:
        InputError: on another choice.
    """

    k: int | float
    measure: Measure = "corrected"
    against: Performance = "loss"
    subset: ModelSubset = "all"
    method: Method = "pearson"


@dataclass(frozen=True, repr=False, eq=False)
class Findings(Plottable[str]):
    """The answer, with the figures of the page Generalization.

    These are "models", of performance against coupling; "families", of the correlation without each
    family; "k", of coupling against K; and "correlation", of the correlation against K.

    Its table has a row a model of the subset, at the K that was asked for: model, id, family, run,
    step, trained, parameters, layers, width, training_tokens, loss, score, k, the measure asked for
    (`corrected`, `coupling` or `alignment`: its mean over the prompts), low and high (its 95 %
    interval), chance (its chance level: 0, and of `coupling` the mean floor), prompts, without.

    Args:
        table: of a sweep, its depth-wise rows.
        question: what was asked.
    """

    figures: ClassVar = {
        "models": "generalization.over_models",
        "families": "generalization_forest.without_families",
        "k": "generalization.coupling_by_k",
        "correlation": "generalization_forest.correlation_by_k",
    }

    table: pd.DataFrame
    question: Question

    def __repr__(self) -> str:
        both, against = len(self.points.x), self.question.against
        return f"Findings({self.source}, against {against}, which {both} of the models have)"

    @cached_property
    def means(self) -> statistics.ModelMeans:
        """Coupling of every model of the subset."""
        asked = self.question
        return statistics.subset(
            statistics.model_means(self.table, asked.k, asked.measure), asked.subset
        )

    @cached_property
    def points(self) -> statistics.Points:
        """Coupling and performance of those that have both."""
        return statistics.pair(self.means, "coupling", self.question.against)

    @cached_property
    def by(self) -> statistics.ClusterBy:
        """What counts as one: families, or training runs if all are of one family."""
        return "family" if self.points.rows["family"].nunique() > 1 else "run"

    @cached_property
    def fits(self) -> tuple[statistics.Fit, ...]:
        """A straight line and an exponential."""
        forms = get_args(statistics.Form)
        return tuple(statistics.fit(self.points, form, by=self.by) for form in forms)

    @cached_property
    def correlations(self) -> dict[Method, statistics.Correlation]:
        """Pearson's and Spearman's."""
        return {each: statistics.correlate(self.points, each, by=self.by) for each in METHODS}

    @cached_property
    def families(self) -> statistics.LeaveOneFamilyOut:
        """The correlation without each family."""
        return statistics.leave_one_family_out(self.points, self.question.method)

    @cached_property
    def partial(self) -> statistics.PartialCorrelation:
        """The correlation given the models' sizes."""
        against = self.question.against
        return statistics.partial_correlation(self.means, against, by=self.by)

    @cached_property
    def by_k(self) -> dict[int, statistics.ModelMeans]:
        """Coupling of the subset's models at every K of the table."""
        every = statistics.means_by_k(self.table, self.question.measure)
        return {k: statistics.subset(means, self.question.subset) for k, means in every.items()}

    @cached_property
    def correlations_by_k(self) -> dict[int, statistics.Correlation]:
        """The correlation at every K."""
        method, against = self.question.method, self.question.against
        points = {k: statistics.pair(of, "coupling", against) for k, of in self.by_k.items()}
        return {k: statistics.correlate(of, method, by=self.by) for k, of in points.items()}

    def trends(self, x: PromptNumber, *, last: bool = False) -> statistics.PromptTrends:
        """Coupling against length or difficulty of prompts; with `last` no earlier checkpoints."""
        means = statistics.subset(self.means, "last") if last else self.means
        rows = self.table[self.table["model"].isin(means.rows["model"])]
        return statistics.prompt_trends(rows, x, self.question.k, self.question.measure)

    @cached_property
    def falls(self) -> dict[str, statistics.Fall]:
        """Whether coupling falls after its highest checkpoint, by training run."""
        falls, at_k = {}, statistics.at_k(self.table, self.question.k)
        for run, steps in self._courses():
            rows = at_k[at_k["model"].isin(steps["model"])]
            scores = rows.pivot_table(self.question.measure, "prompt", "step", dropna=False)
            scores = scores.dropna(axis=1, how="all")
            falls[run] = statistics.fall(scores.to_numpy(), scores.columns.to_numpy())
        return falls

    @cached_property
    def bends(self) -> dict[str, float]:
        """The p of a straight line of coupling against performance, by run; NaN for none."""
        bends, names = {}, ["coupling", self.question.against]
        for run, steps in self._courses():
            known = steps[names].dropna().drop_duplicates()
            bends[run] = statistics.bend_p(*known.to_numpy(np.float64).T)
        return bends

    @property
    def shows(self) -> tuple[str, ...]:
        """What can be said, a sentence or two each."""
        against, found = self.question.against, self.correlations[self.question.method]
        lines, ranks = (self.correlations[method] for method in METHODS)
        if found.reason:
            return (f"Nothing on coupling and {self.performance}: {found.reason}.",)
        return (
            sentences.correlate(found, self.measure, against),
            sentences.agreement(lines, ranks, against),
            sentences.course(self.falls, self.bends, against),
            sentences.fits(self.fits, against),
            self.families.verdict,
            sentences.given_sizes(self.partial),
        )

    @property
    def verdict(self) -> str:
        """How strongly coupling and performance go together, and whether that bears a claim out.

        The first two sentences of `shows`; what must not be concluded is in `does_not_show`.
        """
        return " ".join(self.shows[:2])

    def _table(self) -> Table:
        named = {"coupling": self.question.measure}
        table = self.means.rows.rename(columns=named).reset_index(drop=True)
        return table, vars(self.question) | {"of": self.source}

    def _given(self, figure: str) -> tuple[Any, ...]:
        against = self.question.against
        if figure == "models":
            return self.means, "coupling", against, self.fits
        if figure == "families":
            return (self.families,)
        return (self.by_k,) if figure == "k" else (self.correlations_by_k, against)

    def plot(self, figure: str = "", **options: Any) -> Drawing:
        """As `Plottable.plot`."""
        found = super().plot(figure, **options)
        found.figure.layout.meta = found.figure.layout.meta | {"source": self.source}
        return found

    @property
    def does_not_show(self) -> tuple[str, ...]:
        """What must not be concluded."""
        if self.correlations[self.question.method].reason:
            return ()
        against, rows = self.question.against, self.means.rows.dropna(subset=["coupling"])
        without = rows[rows["trained"] & rows[against].isna()]
        return sentences.limits(self.points, against, without)

    def doubts(self, plan: Mapping[str, Any]) -> tuple[str, ...]:
        """What is wrong with the numbers, of what a plan or journal says was to be measured."""
        failed = statistics.uncertified(self.table)
        prompts, without = self.means.rows["prompts"], int(self.means.rows["without"].sum())
        few, models = int((prompts < MIN_NUMBERS).sum()), len(prompts)
        kinds = plan.get("kinds") or ()
        expected = plan.get("total", 0) // len(kinds) if "depth" in kinds else 0
        missing = expected - self.table["key"].nunique()
        return wording.sentences(
            (
                failed,
                f"{failed} of {counted(len(self.table), 'row')} with an SVD that failed its "
                "certificate",
            ),
            (without, f"{counted(without, 'score')} undefined and left out of the means"),
            (
                few and prompts.max() > 1,
                f"the means{f' of {few} of {models} models' * (few < models)} are over fewer than "
                f"{MIN_NUMBERS} prompts: their intervals are wide and support no claim",
            ),
            (missing > 0, f"{missing} of {counted(expected, 'measurement')} missing"),
        )

    @property
    def source(self) -> str:
        """How many models and prompts the numbers are of, and which K, in one line."""
        models, prompts = len(self.means.rows), self.table["prompt"].nunique()
        subset = statistics.SUBSETS[self.question.subset].title
        return (
            f"{counted(models, 'model')} ({subset}) · {counted(prompts, 'prompt')} · {self.measure}"
        )

    @property
    def performance(self) -> str:
        """The name of the performance."""
        return sentences.PERFORMANCES[self.question.against]

    @property
    def measure(self) -> str:
        """The name of the measure of coupling, with its K."""
        return f"mean {wording.MEASURES[self.question.measure]} at {self.means.k_name}"

    def _courses(self) -> list[tuple[str, pd.DataFrame]]:
        """The checkpoints with a coupling of each training run of several, by step."""
        rows = self.means.rows.dropna(subset=["coupling"]).sort_values("step")
        return [(str(run), of_run) for run, of_run in rows.groupby("run") if len(of_run) > 1]


def find(table: pd.DataFrame, question: Question | None = None) -> Findings:
    """Ask a table.

    Args:
        table: of a sweep, a row for each model, prompt and K.
        question: at which K, of which models, against what; by default at the first K that all
            models have.

    Raises:
        InputError: where it is no table, has no depth-wise row at this K, or no model is in the
            subset.
    """
    rows = table[table["kind"] == "depth"]
    if rows.empty:
        raise InputError(
            "the sweep has no depth-wise result: run it (`coupling sweep run`), or look at the "
            "numbers of its other kinds in its table, which --out table.csv writes"
        )
    found = Findings(rows, question or first_question(rows))
    if found.means.rows.empty:
        raise InputError(f"no model is left: {statistics.SUBSETS[found.question.subset].title}")
    return found


def first_question(table: pd.DataFrame, asked: Iterable[float] = ()) -> Question:
    """The question asked by default: at the first K that all models have (see `every_k`)."""
    shared, known = every_k(table, asked), performances(table)
    return Question(shared[0] if shared else 1, against=known[0] if known else "loss")


def filled_subsets(table: pd.DataFrame) -> tuple[ModelSubset, ...]:
    """The named subsets of which a sweep's table has models, as `find` takes them."""
    shared = every_k(table)
    if not shared:
        return ()
    rows = find(table, Question(shared[0])).means.rows
    return tuple(name for name, one in statistics.SUBSETS.items() if one.keep(rows).any())


def every_k(table: pd.DataFrame, asked: Iterable[float] = ()) -> tuple[float, ...]:
    """The K at which every model was measured depth-wise, rising, then the file's shares."""
    rows = table[table["kind"] == "depth"]
    of_model = [set(ks.astype(float)) for _, ks in rows.groupby("model")["k"]]
    shares = sorted(k for k in asked if k < 1)
    return (*sorted(set.intersection(*of_model)), *shares) if of_model else ()


def performances(table: pd.DataFrame) -> tuple[Performance, ...]:
    """Those that at least one model of a table has."""
    return tuple(name for name in PERFORMANCES if name in table and table[name].notna().any())
