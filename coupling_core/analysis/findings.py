"""What the table of a sweep says of coupling and performance: the numbers, and plain sentences.

The page and the report ask here, so that both say the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from coupling_core.analysis import sentences, statistics
from coupling_core.analysis.scores import MIN_NUMBERS
from coupling_core.analysis.statistics import (
    SIZES,
    SUBSETS,
    ClusterBy,
    Correlation,
    Fall,
    Fit,
    LeaveOneFamilyOut,
    ModelMeans,
    PartialCorrelation,
    Points,
    PromptTrends,
)
from coupling_core.base.choosing import none_of
from coupling_core.base.drawing import Drawing
from coupling_core.base.equality import SameContent
from coupling_core.base.errors import InputError
from coupling_core.base.keywords import known_fields, known_keywords
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import (
    MEASURES,
    METHODS,
    MODEL_SUBSETS,
    PERFORMANCES,
    Measure,
    Method,
    ModelSubset,
    Performance,
    PromptNumber,
)
from coupling_core.base.showing import Drawn
from coupling_core.base.tables import require_table
from coupling_core.base.units import counted

_MEASURES: dict[Measure, str] = {
    "corrected": "mean chance-corrected score",
    "coupling": "mean score c",
    "alignment": "mean alignment",
}


@known_fields
@dataclass(frozen=True)
class Question:
    """What is asked of a table.

    Args:
        k: singular triplets, or below 1 their share of each model's width.
        measure: of coupling.
        against: which performance.
        subset: of the models, one of `SUBSETS`.
        method: of correlation.

    Raises:
        InputError: on a choice that there is not.
    """

    k: float
    measure: Measure = "corrected"
    against: Performance = "loss"
    subset: ModelSubset = "all"
    method: Method = "pearson"

    def __post_init__(self) -> None:
        for name, known in (
            ("measure", MEASURES),
            ("against", PERFORMANCES),
            ("subset", MODEL_SUBSETS),
            ("method", METHODS),
        ):
            if getattr(self, name) not in known:
                raise InputError(none_of(name, getattr(self, name), known))


@dataclass(frozen=True, repr=False, eq=False)
class Findings(SameContent, Drawn):
    """The answer.

    Args:
        table: of a sweep, its depth-wise rows.
        question: what was asked.
    """

    table: pd.DataFrame
    question: Question

    def __hash__(self) -> int:  # type: ignore[override]  # a page keeps what it drew of it
        return hash(self.question)

    def __repr__(self) -> str:
        both, against = len(self.points.x), self.question.against
        return f"Findings({self.source}, against {against}, which {both} of the models have)"

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
        """What counts as one: families, or training runs where all are of one family."""
        return "family" if len(set(self.points.family)) > 1 else "run"

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

    @cached_property
    def falls(self) -> dict[str, Fall]:
        """Whether coupling falls after its highest checkpoint, by training run."""
        found = {}
        for run, steps in self._courses():
            rows = self._at_k[self._at_k["model"].isin(steps["model"])]
            of_prompts = rows.pivot_table(self.question.measure, "prompt", "step", dropna=False)
            of_prompts = of_prompts.dropna(axis=1, how="all")
            found[run] = statistics.fall(of_prompts.to_numpy(), of_prompts.columns.to_numpy())
        return found

    @cached_property
    def bends(self) -> dict[str, float]:
        """The p of a straight line of coupling against performance, by run; NaN for none."""
        found = {}
        for run, steps in self._courses():
            known = steps.dropna(subset=[self.question.against])
            known = known.drop_duplicates(["coupling", self.question.against])
            numbers = (known[name].to_numpy(np.float64) for name in self._pair)
            found[run] = statistics.bend_p(*numbers)
        return found

    @property
    def shows(self) -> tuple[str, ...]:
        """What can be said, a sentence or two each."""
        asked, found = self.question, self.correlations[self.question.method]
        lines, ranks = (self.correlations[method] for method in METHODS)
        if found.reason:
            return (f"Nothing on coupling and {self.performance}: {found.reason}.",)
        return (
            sentences.correlate(found, self.measure, asked.against),
            sentences.agreement(lines, ranks, asked.against),
            sentences.course(self.falls, self.bends, asked.against),
            sentences.fits(self.fits, asked.against),
            self.families.verdict,
            sentences.given_sizes(self.partial),
        )

    @property
    def verdict(self) -> str:
        """How strongly coupling and performance go together, and whether that bears a claim out.

        The first two sentences of `shows`; what must not be concluded is in `does_not_show`.
        """
        return " ".join(self.shows[:2])

    def to_pandas(self) -> pd.DataFrame:
        """A row a model of the subset, at the K that was asked for.

        Returns:
            columns model, id, family, run, step, trained, parameters, layers, width,
            training_tokens, loss, score, k, the measure asked for (`corrected`, `coupling` or
            `alignment`: its mean over the prompts), low and high (its 95 % interval), chance (what
            it is by chance: 0, and of `coupling` the mean floor), prompts, without. Its `attrs` say
            what was asked, and of which table.
        """
        named = {"coupling": self.question.measure}
        table = self.means.rows.rename(columns=named).reset_index(drop=True)
        table.attrs |= vars(self.question) | {"of": self.source}
        return table

    def plot(self, figure: str = "models") -> Drawing:
        """A figure of it, as the page Generalization draws it.

        Args:
            figure: "models" for performance against coupling, "families" for the correlation
                without each family, "k" for coupling against K, or "correlation" for the
                correlation against K.

        Raises:
            InputError: on another name.
        """
        drawn: Drawing = kind_of("depth").part("views").found_in_sweep(self, figure)
        return drawn

    @property
    def does_not_show(self) -> tuple[str, ...]:
        """What must not be concluded."""
        if self.correlations[self.question.method].reason:
            return ()
        return sentences.limits(self.points, self.question.against)

    def doubts(self, plan: Mapping[str, object]) -> tuple[str, ...]:
        """What is wrong with the numbers, where anything is.

        Args:
            plan: what was to be measured, as `Plan.described` or as a journal has it.
        """
        told = []
        rows = len(self.table)
        if failed := int((self.table["certified"].astype(str) == "False").sum()):
            told.append(
                f"{failed} of {counted(rows, 'row')} with an SVD that failed its certificate"
            )
        if without := int(self.means.rows["without"].sum()):
            told.append(f"{counted(without, 'score')} undefined and left out of the means")
        prompts = self.means.rows["prompts"]
        if (few := int((prompts < MIN_NUMBERS).sum())) and prompts.max() > 1:
            some = f" of {few} of {len(prompts)} models" * (few < len(prompts))
            told.append(
                f"the means{some} are over fewer than {MIN_NUMBERS} prompts: an interval of so "
                "few is wide, and nothing is claimed of it"
            )
        total, kinds = plan.get("total"), plan.get("kinds")
        if isinstance(total, int) and isinstance(kinds, list | tuple) and "depth" in kinds:
            expected, measured = total // len(kinds), self.table["key"].nunique()
            if measured < expected:
                told.append(f"{expected - measured} of {counted(expected, 'measurement')} missing")
        return tuple(told)

    @property
    def source(self) -> str:
        """Of how many models and prompts the numbers are, and at which K, in one line."""
        models, prompts = len(self.means.rows), self.table["prompt"].nunique()
        subset = SUBSETS[self.question.subset].title
        return (
            f"{counted(models, 'model')} ({subset}) · {counted(prompts, 'prompt')} · {self.measure}"
        )

    @property
    def performance(self) -> str:
        """The performance in words."""
        return sentences.PERFORMANCES[self.question.against]

    @property
    def measure(self) -> str:
        """The measure of coupling in words."""
        return f"{_MEASURES[self.question.measure]} at {self.means.k_name}"

    @property
    def _pair(self) -> tuple[str, str]:
        return "coupling", self.question.against

    @cached_property
    def _at_k(self) -> pd.DataFrame:
        """The table's rows at the K that was asked for."""
        return statistics.at_k(self.table, _k(self.question.k))

    def _courses(self) -> list[tuple[str, pd.DataFrame]]:
        """The checkpoints with a coupling of each training run of several, by step."""
        rows = self.means.rows.dropna(subset=["coupling"]).sort_values("step")
        return [(str(run), of_run) for run, of_run in rows.groupby("run") if len(of_run) > 1]


@known_keywords
def find(table: pd.DataFrame, question: Question | None = None) -> Findings:
    """Ask a table.

    Args:
        table: of a sweep, a row for each model, prompt and K.
        question: at which K, of which models, against what; None is `first_question`.

    Raises:
        InputError: where it is no table, has no depth-wise row at this K, or no model is in the
            subset.
    """
    require_table(table)
    rows = table[table["kind"] == "depth"]
    if rows.empty:
        raise InputError(
            "the sweep has no depth-wise result: run it (`coupling sweep run`), or look at the "
            "numbers of its other kinds in its table, which --out table.csv writes"
        )
    asked = question or first_question(rows)
    found = Findings(rows, asked)
    if found.means.rows.empty:
        raise InputError(f"no model is left: {SUBSETS[asked.subset].title}")
    return found


def first_question(table: pd.DataFrame, asked: Iterable[float] = ()) -> Question:
    """What is asked where nobody says: at the first K that all models have.

    Args:
        table: of a sweep.
        asked: the K of its file.

    Raises:
        InputError: where it is no table.
    """
    require_table(table)
    shared, known = every_k(table, asked), performances(table)
    return Question(shared[0] if shared else 1, against=known[0] if known else "loss")


def filled_subsets(table: pd.DataFrame) -> tuple[ModelSubset, ...]:
    """The named subsets of which a table has models, as `find` takes them.

    Args:
        table: of a sweep.
    """
    shared = every_k(table)
    if not shared:
        return ()
    rows = find(table, Question(shared[0])).means.rows
    return tuple(name for name, one in SUBSETS.items() if one.keep(rows).any())


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
    return tuple(name for name in PERFORMANCES if name in table and table[name].notna().any())


def _k(k: float) -> int | float:
    """A whole number as one, whoever wrote it with a point."""
    return int(k) if float(k).is_integer() else k
