"""How far a sweep is: what is stored of each model, what is missing, and what failed."""

import os
from collections import Counter
from dataclasses import dataclass

from coupling_core.base.notebook import Table, Tabular
from coupling_core.base.units import counted, duration
from coupling_core.experiments.sweeps.journal import Failure, Journal, State, by_reason
from coupling_core.experiments.sweeps.plan import Plan
from coupling_core.store.disk import Store, as_store


@dataclass(frozen=True)
class ModelStatus:
    """What is stored of one set of weights.

    Args:
        model: title of the weights.
        total: measurements that the sweep asks of them.
        stored: how many of these the store has.
        problem: why they cannot be measured as things are; "" where they can.
    """

    model: str
    total: int
    stored: int
    problem: str


@dataclass(frozen=True, repr=False)
class Status(Tabular):
    """How far a sweep is.

    Its table has a row a set of weights: `model`, `stored` and `total` (counts of measurements),
    and `problem`, why it cannot be measured as things are.

    Args:
        id: of the sweep's plan, which is the name of its folder in the store.
        models: what is stored of each, in the order of the sweep's file.
        state: how the last run went, or goes; None where there was none.
        failures: what the last run could not measure, with the reasons; the first thousand.
    """

    id: str
    models: tuple[ModelStatus, ...]
    state: State | None
    failures: tuple[Failure, ...]

    @property
    def total(self) -> int:
        """Measurements that the sweep asks for."""
        return sum(model.total for model in self.models)

    @property
    def stored(self) -> int:
        """How many of these the store has."""
        return sum(model.stored for model in self.models)

    @property
    def missing(self) -> int:
        """How many it does not have, out of reach or not."""
        return self.total - self.stored

    @property
    def runs(self) -> bool:
        """Whether the sweep is being run now."""
        return bool(self.state and self.state.runs)

    @property
    def last_run(self) -> str:
        """How the last run ended, or how far the present one is; "" where there was none."""
        if self.state is None:
            return ""
        if self.state.runs:
            return self.state.told
        if self.state.ended == "done" and self.state.total == self.state.stored:
            return "found all of it stored"
        took = duration(self.state.updated - self.state.started)
        return f"{self.state.how}, after {took}; {self.state.failed} failed"

    @property
    def verdict(self) -> str:
        """What is stored, how the last run went, and the most frequent reason why some failed."""
        are = "is" if self.stored == 1 else "are"
        told = f"Of {counted(self.total, 'measurement')}, {self.stored} {are} stored."
        if self.state is not None:
            told += f" The last run: {self.last_run}."
        lost = [model for model in self.models if model.problem]
        if lost:
            told += f" {lost[0].model} cannot be measured as things are: {lost[0].problem}"
            told += f" (and {len(lost) - 1} more)." if len(lost) > 1 else "."
        if self.failures:
            first, n = by_reason(self.failures)[0]
            told += f" {counted(n, 'measurement')} failed with: {first.error}"
        return told

    def _table(self) -> Table:
        columns = ("model", "stored", "total", "problem")
        values = {name: [getattr(model, name) for model in self.models] for name in columns}
        return values, {"sweep": self.id, "last_run": self.last_run}

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" * bool(self.failures)
        return f"Status({self.id}, {self.stored} of {self.total} stored{failed})"


def status(plan: Plan, store: Store | str | os.PathLike[str] | None = None) -> Status:
    """What the store has of a sweep, and how its last run went; nothing is measured.

    Args:
        plan: the sweep.
        store: where results are, a `Store` or its folder; None is that of the command line.
    """
    store = as_store(store)
    found = Counter(
        item.weights for item, key in zip(plan.items(), plan.stored(store), strict=True) if key
    )
    each = len(plan.prompts) * len(plan.sweep.kinds)
    models = [
        ModelStatus(weights.title, each, found[number], weights.problem)
        for number, weights in enumerate(plan.weights)
    ]
    journal = Journal.of(store, plan.id)
    return Status(plan.id, tuple(models), journal.state(), tuple(journal.failures()))
