"""What a notebook shows of a result or an analysis: a line, the verdict, a figure or the table."""

import html
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from coupling_core.base.drawing import Drawing

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame


class Tabular(ABC):
    """What has a verdict in words, and its numbers as a table."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The finding, in a sentence or two."""

    @abstractmethod
    def to_pandas(self) -> "DataFrame":
        """Its numbers as a table."""

    def _shown(self) -> Any:
        """What a notebook shows below the verdict."""
        return self.to_pandas()

    def _repr_html_(self) -> str:
        return in_a_page(self, self._shown())


class Plottable(Tabular):
    """What also has a figure, which a notebook shows in place of the table."""

    @abstractmethod
    def plot(self, figure: Any = "") -> Drawing:
        """The figure of the app's page; each class has a closed list of names."""

    def _shown(self) -> Any:
        return self.plot()


def table_of(
    values: Any, about: Mapping[str, object], columns: Collection[str] | None = None
) -> "DataFrame":
    """A table, whose `attrs` say what it is of; `columns` are those that even an empty one has."""
    from pandas import DataFrame

    table = DataFrame(values, columns=None if columns is None else list(columns))
    table.attrs.update(about)
    return table


def in_a_page(record: Any, shown: Any) -> str:
    """HTML of a record's line and verdict, above a figure or a table."""
    lines = (f"<p>{html.escape(line)}</p>" for line in (repr(record), record.verdict))
    return "".join(lines) + str(shown._repr_html_())


def in_a_line(record: Any, *parts: str) -> str:
    """A `__repr__` of one line, of those parts that are not empty."""
    return f"{type(record).__name__}({', '.join(filter(None, parts))})"


def in_short(record: Any) -> str:
    """A dataclass in one line, with the shapes of its arrays in place of their numbers."""
    values = {item.name: getattr(record, item.name) for item in fields(record) if item.repr}
    return in_a_line(record, *(f"{name}={_short(value)}" for name, value in values.items()))


def _short(value: Any) -> str:
    if shape := getattr(value, "shape", ()):
        return " x ".join(map(str, shape))
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
