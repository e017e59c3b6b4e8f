"""What a notebook shows of a result or an analysis: a line, the verdict, a figure or the table."""

import html
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from typing_extensions import TypeVar

from coupling_core.base.drawing import Drawing, drawing, known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.units import rounded

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame

FigureOf = TypeVar("FigureOf", bound=str, default=Any)
"""The names of its figures."""
Table = tuple[Any, Mapping[str, object]]
"""The rows or columns of a table, and what it is of."""


class Tabular(ABC):
    """What has a verdict in words, and its numbers as a table."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The finding, in a sentence or two."""

    def to_pandas(self) -> "DataFrame":
        """Its numbers as a table: `help` of its class has the rows and columns, `attrs` of what."""
        return table_of(*self._table())

    def _table(self) -> Table:
        """What `to_pandas` makes a table of."""
        raise NotImplementedError

    def _shown(self) -> Any:
        """What a notebook shows below the verdict."""
        return self.to_pandas()

    def _repr_html_(self) -> str:
        told = (f"<p>{html.escape(line)}</p>" for line in (repr(self), self.verdict))
        return "".join(told) + str(self._shown()._repr_html_())


class Plottable(Tabular, Generic[FigureOf]):
    """What also has a figure, which a notebook shows in place of the table."""

    figures: ClassVar[Mapping[str, str]]
    """By name, the function of `coupling_core.figures` that draws each; the main one is first."""

    def plot(self, figure: FigureOf | Literal[""] = "", **options: Any) -> Drawing:
        """A figure of it, as the app draws it.

        Args:
            figure: one of `figures`; "" is the first.
            options: of the function that draws it, by name.

        Raises:
            InputError: on another name; the message lists them.
        """
        every = tuple(self.figures)
        name = known_figure(figure or every[0], every)
        result, view = self._drawn_of
        return drawing(self.figures[name], *self._given(name), result=result, view=view, **options)

    def _given(self, figure: str) -> tuple[Any, ...]:
        """What the function of a figure takes."""
        return (self,)

    @property
    def _drawn_of(self) -> tuple[Any, Any]:
        """The result and the view that a figure's file names; None where the figure does so."""
        return None, None

    def _shown(self) -> Any:
        try:
            return self.plot()
        except InputError:  # where there is nothing to draw
            return self.to_pandas()


def table_of(
    values: Any, about: Mapping[str, object], columns: Collection[str] | None = None
) -> "DataFrame":
    """A table, whose `attrs` say what it is of; `columns` are those that even an empty one has."""
    from pandas import DataFrame

    table = DataFrame(values, columns=None if columns is None else list(columns))
    table.attrs.update(about)
    return table


def in_a_line(record: Any, *parts: str) -> str:
    """A `__repr__` of one line, of those parts that are not empty."""
    return f"{type(record).__name__}({', '.join(filter(None, parts))})"


def in_short(record: Any) -> str:
    """A dataclass in one line, with the shapes of its arrays in place of their numbers."""
    values = {item.name: getattr(record, item.name) for item in fields(record) if item.repr}
    return in_a_line(record, *(f"{name}={_short(value)}" for name, value in values.items()))


def arrays_of(record: Any) -> dict[str, Any]:
    """The arrays of a dataclass by their names, in the order of its fields."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    return {name: value for name, value in values.items() if hasattr(value, "shape")}


def _short(value: Any) -> str:
    if shape := getattr(value, "shape", ()):
        return " x ".join(map(str, shape))
    return rounded(value, 4) if isinstance(value, float) else repr(value)
