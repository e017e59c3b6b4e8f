"""One record for each number of a kind of result, from which all that shows the number is derived.

`NUMBERS` of a kind's module `numbers` has its records. Files, datasets, tables, JSON, what is
printed, the columns of sweeps and of many prompts, the figures over training steps and
docs/outputs.md follow from them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coupling_core.base.kinds import kind_of


@dataclass(frozen=True)
class Seen:
    """A result in one view.

    Args:
        result: the result.
        view: how it is looked at.
        derive: makes of both what several numbers are taken from.
        k_view: largest side of matrices; None takes all that is stored.
    """

    result: Any
    view: Any
    derive: Callable[[Any, Any], Any]
    k_view: int | None = None

    @cached_property
    def derived(self) -> Any:
        """What several numbers are taken from, made once."""
        return self.derive(self.result, self.view)


@dataclass(frozen=True)
class Column:
    """How one number stands for a whole result: a prompt, a row of a sweep, a training step.

    Args:
        title: of an axis, with its unit.
        over: makes one number of the array.
        name: in tables and JSON, where it is not that of the array.
        ideal: the value by chance, or of an ideal result, or the column that has it.
        ideal_name: what that value is called.
        most: the largest that it can be.
        log: whether its axis is logarithmic.
        reading: how a curve of it is read, in a sentence.
        scored: whether it is of the viewed definition of the score.
        of_prompts: whether the rows of many prompts have it.
        in_sweeps: whether tables of sweeps have it.
        by_step: whether training curves have it.
    """

    title: str
    over: Callable[[np.ndarray], float] = float
    name: str = ""
    ideal: float | str | None = None
    ideal_name: str = "chance"
    most: float | None = None
    log: bool = False
    reading: str = ""
    scored: bool = False
    of_prompts: bool = True
    in_sweeps: bool = True
    by_step: bool = False


@dataclass(frozen=True)
class Number:
    """An array of a kind of result, or one number where it has no dimensions.

    Args:
        name: in files, JSON and datasets.
        what: it is, with its unit.
        dims: names of its dimensions; None of a stored array, whose class has them.
        of: makes it; None takes what the result, or what is derived of it, has by this name.
        where: in which results and views it is.
        in_files: whether files of arrays have it.
        in_table: whether the kind's table has it, where a row of that is of its only dimension.
        title: of its axis, with its unit, or of its curve.
        heading: of its column in a printed table; "" leaves it out there.
        form: how it is printed.
        why: why each place has no number; "" where it has, or that is not known.
        column: how it stands for a whole result; None where it does not.
    """

    name: str
    what: str
    dims: tuple[str, ...] | None = None
    of: Callable[[Seen], Any] | None = None
    where: Callable[[Seen], bool] = lambda _: True
    in_files: bool = True
    in_table: bool = True
    title: str = ""
    heading: str = ""
    form: str = ".3f"
    why: Callable[[Seen], Sequence[str]] = lambda _: ()
    column: Column | None = None

    def values(self, seen: Seen) -> np.ndarray:
        """The array of a result in a view."""
        if self.of is not None:
            return np.asarray(self.of(seen))
        whose = seen.result if hasattr(seen.result, self.name) else seen.derived
        return np.asarray(getattr(whose, self.name))

    @property
    def column_name(self) -> str:
        """What the number is called that stands for a whole result."""
        return (self.column and self.column.name) or self.name


def median(values: np.ndarray) -> float:
    """The median of the finite numbers; NaN where there is none."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def mean(values: np.ndarray) -> float:
    """The mean of the finite numbers; NaN where there is none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def last(values: np.ndarray) -> float:
    """The last number."""
    return float(values[-1])


def tokens() -> Iterable[Number]:
    """The tokens of the prompt, which every kind has."""
    texts = "texts of the tokens"
    yield Number("tokens", texts, ("token",), in_table=False)
    yield Number("token_ids", "ids of the tokens", in_table=False)


def numbers_of(kind: str) -> tuple[Number, ...]:
    """The records of a kind's numbers."""
    records: tuple[Number, ...] = kind_of(kind).part("numbers").NUMBERS
    return records


def number_of(kind: str, name: str) -> Number:
    """The record of a kind's number: where several share its name, the first."""
    return next(number for number in numbers_of(kind) if number.name == name)


def array_of(result: Any, view: Any, name: str) -> np.ndarray:
    """One number of a result in a view, without the others."""
    return number_of(result.request.kind, name).values(seen_in(result, view))


def dims_of(result: Any, number: Number) -> tuple[str, ...]:
    """The names of a number's dimensions."""
    found: tuple[str, ...] = result.dims[number.name] if number.dims is None else number.dims
    return found


def seen_in(result: Any, view: Any, k_view: int | None = None) -> Seen:
    """A result in a view, from which its numbers are taken."""
    module = kind_of(result.request.kind).part("numbers")
    return Seen(result, view, getattr(module, "derive", lambda *_: None), k_view)


def in_rows(result: Any, dim: str) -> list[Number]:
    """The numbers that are columns of a kind's table, whose rows are the places along `dim`."""
    numbers = numbers_of(result.request.kind)
    return [one for one in numbers if one.in_table and dims_of(result, one) == (dim,)]


def columns(result: Any, view: Any, dim: str) -> dict[str, np.ndarray]:
    """What these have, by name."""
    seen = seen_in(result, view)
    return {number.name: number.values(seen) for number in in_rows(result, dim)}
