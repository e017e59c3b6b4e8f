"""A measurement over the steps of a training run, and the numbers that it comes to."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from coupling_core.analysis.exports import row
from coupling_core.base.drawing import Drawing, drawing, known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.figure_names import StepCurve
from coupling_core.base.kinds import kind_of
from coupling_core.base.notebook import Plottable, table_of
from coupling_core.base.numbers import Column, numbers_of
from coupling_core.base.records import Request, View, viewed
from coupling_core.base.results import DepthResult, Result, SpectrumResult, TrajectoryResult
from coupling_core.base.results.base import certified_words
from coupling_core.sources.suites import Suite

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

NAMED = 8
"""Up to so many steps are named one by one."""


@dataclass(frozen=True, repr=False)
class Course(Plottable[StepCurve]):
    """What is measured of one prompt over the steps of a training run.

    Args:
        suite: the training run.
        request: what was asked of every step: a depth-wise request, whatever its model.
        steps: those that are looked at, rising.
        depth: the blocks at one token, by step; a step that is not measured is missing.
        paths: the paths of all tokens, by step; the same.
        spectra: of the blocks' linear maps, by step; the same. None where they were not asked for,
            for of wide models they take longer than all the rest.
    """

    suite: Suite
    request: Request
    steps: tuple[int, ...]
    depth: Mapping[int, DepthResult]
    paths: Mapping[int, TrajectoryResult]
    spectra: Mapping[int, SpectrumResult] | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Steps of which something is not measured that was asked for."""
        return tuple(step for step in self.steps if self.lacking(step))

    def lacking(self, step: int) -> tuple[Request, ...]:
        """What has still to be measured of a step."""
        asked = self.suite.request(self.request, step)
        wanted = [asked, asked.of_kind("trajectory"), asked.of_kind("spectrum")]
        parts = zip((self.depth, self.paths, self.spectra), wanted, strict=True)
        return tuple(request for of, request in parts if of is not None and step not in of)

    @property
    def alike(self) -> tuple[tuple[int, ...], ...]:
        """Groups of steps that gave the same numbers to the last bit, so of the same weights."""
        groups: dict[bytes, list[int]] = {}
        for step in sorted(self.depth):
            parts = (self.depth[step].singular_values, self.depth[step].diagonal)
            digest = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
            groups.setdefault(digest, []).append(step)
        return tuple(tuple(steps) for steps in groups.values() if len(steps) > 1)

    @property
    def default_k(self) -> int:
        """The K of its request, else that with which the run was watched, else 8."""
        most = (result.k_max for result in self.depth.values())
        return min([self.request.k or self.suite.usual_k, *most])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its numbers; those of spectra only where they were asked for."""
        left_out = "spectrum" if self.spectra is None else None
        return tuple(name for name, of in step_columns().items() if of.kind != left_out)

    def to_pandas(self, view: View | None = None, *, k: int | None = None) -> "DataFrame":
        """Its numbers by step, as `numbers` has them: a row a step, and its `columns`.

        What is not measured is NaN. Its `attrs` say suite, prompt, at which token, how scores are
        looked at, final norm, precision and certificate.

        Args:
            view: K, definition, role and blocks.
            k: the K alone, of the paper's score; None is `default_k`.

        Raises:
            InputError: where K or a block is not in the results.
        """
        seen = viewed(view, self.default_k, k=k)
        about: dict[str, object] = {"suite": self.suite.name, "prompt": self.request.prompt_words}
        about |= seen.attributes()
        told = next((one.attributes() for one in self.depth.values()), {})
        about |= {name: told[name] for name in ("measured", "final_norm", "precision") if told}
        if svds := [svd for result in self.depth.values() for svd in result.svds]:
            about["certificate"] = certified_words(svds)
        rows = [one.to_dict() for one in numbers(self, seen)]
        return table_of(rows, about, ("step", *self.columns))

    def plot(
        self,
        figure: StepCurve | Literal[""] = "",
        view: View | None = None,
        *,
        k: int | None = None,
        **options: Any,
    ) -> Drawing:
        """One of its numbers by step, as the page Training draws it.

        Args:
            figure: one of `step_figures()`, such as "loss" or "line-shape"; where spectra were
                asked for, "departure" and the like. "" is "corrected".
            view: K, definition, role and blocks.
            k: the K alone, of the paper's score; None is `default_k`.
            options: of the function that draws it, by name.

        Raises:
            InputError: where nothing is measured, on a name that no figure has (the message lists
                them), or where K or a block is not in the results.
        """
        seen = viewed(view, self.default_k, k=k)
        name = known_figure(figure or "corrected", step_figures())
        measured = [*self.depth.values(), *self.paths.values()]
        if not measured:
            raise InputError(
                f"nothing of {self.suite.name} is measured for this prompt: measure_steps(...) "
                "does it"
            )
        if name in step_figures("spectrum") and self.spectra is None:
            raise InputError(
                f"the figure {name} is of spectra: measure_steps(..., spectra=True) measures them, "
                "and collect(..., spectra=True) reads what is stored"
            )
        return drawing(
            "training.course", self, name, seen, result=measured[-1], view=seen, **options
        )

    @property
    def verdict(self) -> str:
        """How coupling goes through the training, and what is missing or in doubt of that."""
        return str(kind_of("depth").part("views").course_verdict(self, View(self.default_k)))

    def __repr__(self) -> str:
        span = f"from {self.steps[0]} to {self.steps[-1]}, " if self.steps else ""
        done = f"{len(self.steps) - len(self.missing)} of {len(self.steps)} measured"
        at = f"at K = {self.default_k}, " if self.depth else ""
        prompt = repr(self.request.prompt_words[:60])
        return f"Course({self.suite.name}, {prompt}, {at}steps {span}{done})"


@dataclass(frozen=True, repr=False)
class StepNumbers:
    """The numbers of one step, each also an attribute, such as `numbers.corrected`.

    Args:
        step: of the optimiser.
        values: by name, those of `step_columns()`; NaN is not measured, or undefined.
    """

    step: int
    values: Mapping[str, float]

    def __getattr__(self, name: str) -> float:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self) -> dict[str, float]:
        """The step and its numbers."""
        return {"step": self.step, **self.values}

    def __repr__(self) -> str:
        known = (f"{name}={value:.4g}" for name, value in self.values.items() if value == value)
        return f"StepNumbers({', '.join([f'step={self.step}', *known])})"


class StepColumn(NamedTuple):
    """A number of a training step, with the kind of the results that it is of; "" of the run."""

    kind: str
    column: Column


@cache
def step_columns() -> Mapping[str, StepColumn]:
    """The numbers of a training step by name: the loss, and what of each kind is `by_step`."""
    loss = Column(
        "Held-out loss (nats a token)",
        reading="Cross-entropy on text that was held out of the training.",
    )
    found = {"loss": StepColumn("", loss)}
    for kind in ("depth", "trajectory", "spectrum"):
        for number in numbers_of(kind):
            if number.column is not None and number.column.by_step:
                found[number.column_name] = StepColumn(kind, number.column)
    return found


def step_figures(*kinds: str) -> tuple[str, ...]:
    """The names of the figures over steps: of the numbers of these kinds, or all, with hyphens."""
    levels = {of.column.ideal for of in step_columns().values()}  # drawn beside another number
    return tuple(
        name.replace("_", "-")
        for name, of in step_columns().items()
        if name not in levels and (of.kind in kinds or not kinds)
    )


Runs = Mapping[str, Sequence[StepNumbers]]
"""The numbers of several runs by their titles."""


def doubt(course: Course) -> str:
    """What speaks against the course of a run; "" where nothing does."""
    groups = "; ".join(f"{steps_told(steps)} hold the same weights" for steps in course.alike)
    return groups and f"{groups}, whatever the names of their revisions say"


def steps_told(steps: Sequence[int]) -> str:
    """Steps one by one where they are few, else how many."""
    if len(steps) > NAMED:
        return f"{len(steps)} steps from {steps[0]} to {steps[-1]}"
    return f"step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def numbers(course: Course, view: View) -> tuple[StepNumbers, ...]:
    """The numbers of every step that is looked at, in the order of the steps.

    Args:
        course: where they come from.
        view: K, definition, role and blocks.

    Raises:
        InputError: where K or a block is not in the results.
    """
    losses = course.suite.losses()
    parts: tuple[Mapping[int, Result], ...] = (course.depth, course.paths, course.spectra or {})
    return tuple(
        numbers_at(step, view, *(of.get(step) for of in parts), loss=losses.get(step, np.nan))
        for step in course.steps
    )


def numbers_at(
    step: int, view: View, *measured: Result | None, loss: float = np.nan
) -> StepNumbers:
    """The numbers of one step, from what is measured of it; `loss` is held out, in nats."""
    found = dict.fromkeys(step_columns(), np.nan) | {"loss": loss}
    for result in measured:
        if result is not None:
            seen = view if isinstance(result, DepthResult) else result.default_view()
            found |= row(result, seen, lambda column: column.by_step)
    return StepNumbers(step, found)
