"""How what is found shows itself: in a line, and in a notebook with a sentence and a figure."""

import html
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import fields
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from coupling_core.base.choosing import nearest
from coupling_core.base.drawing import Drawing
from coupling_core.base.errors import InputError
from coupling_core.base.keywords import known_keywords
from coupling_core.base.read_only import ReadOnlyArrays
from coupling_core.base.units import a_or_an, counted, rounded

if TYPE_CHECKING:  # half a second to import, and only tables need it
    from pandas import DataFrame

_OF_SCORES = ("coupling", "chance", "corrected", "mean")
"""What scores have, and the result does not whose they are."""
_USUAL = {
    **dict.fromkeys(
        ("to_csv", "to_dict", "to_json", "to_numpy", "to_parquet"),
        "to_pandas() is the table, which has it",
    ),
    "shape": "each of its arrays has one of its own",
    "to_xarray": "to_pandas() is its table; results, scores, paths and comparisons of maps have it",
}
"""Where people find what not all have."""
_FEW = 4
"""Numbers of an array that are shown one by one."""
_LONG = 60
"""Letters from which on it is only told how many there are of what is in a list."""


_WORDED = ("mean", "plot", "strongest", "to_pandas", "to_xarray")
"""Methods that answer a call which they do not take in words."""


class Told(ReadOnlyArrays, ABC):
    """What says in a sentence or two what it comes to, and has its numbers as a table."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, own in [*vars(cls).items()]:
            # One with `options` takes every keyword.
            if name in _WORDED and "options" not in signature(own).parameters:
                setattr(cls, name, known_keywords(own))

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What it comes to, in a sentence or two."""

    @abstractmethod
    def to_pandas(self) -> "DataFrame":
        """Its numbers as a table."""

    __array_ufunc__ = None  # an array that is compared with it leaves the answer to it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Refuse to be made one array of numbers, which NumPy would make an object of.

        Raises:
            InputError: of any dtype but `object`; it says where its numbers are.
        """
        if dtype is None or np.dtype(dtype) != np.dtype(object):
            raise InputError(self._no_array)
        whole = np.empty((), object)
        whole[()] = self
        return whole

    @property
    def _no_array(self) -> str:
        return f"{a_or_an(type(self).__name__)} is no array: {self._arrays}"

    _arrays: ClassVar[str] = "to_pandas() is the table of its numbers, and its arrays have names"
    """Where its arrays are, as somebody is told who takes it for one."""
    _elsewhere: ClassVar[Mapping[str, str]] = {}
    """Where people find what they ask for here, by its name."""

    if not TYPE_CHECKING:  # which would then know of no name that is missing

        def __getattr__(self, name: str) -> Any:
            """Say which name was probably meant of one that is not there."""
            told = f"{a_or_an(type(self).__name__)} has no {name!r}"
            if not name.startswith("_"):  # which programs ask for, and not people
                known = [each for each in dir(self) if not each.startswith("_")]
                if name in _OF_SCORES and "scores" in known:
                    told += ": its scores are .scores(k=50), with .coupling, .corrected, .mean()"
                elif where := (_USUAL | dict(self._elsewhere)).get(name):
                    told += f": {where}"
                else:
                    told += nearest(name, known)
            raise AttributeError(told)

    def _shown(self) -> Any:
        """What a notebook shows under the words."""
        return self.to_pandas()

    def _repr_html_(self) -> str:
        return in_a_page(self, self._shown())


class Drawn(Told):
    """What has a figure too, which a notebook shows in place of the table."""

    @abstractmethod
    def plot(self, figure: Any = "") -> Drawing:
        """The figure that the app's page draws of it; each has a closed list of its own."""

    def _shown(self) -> Any:
        return self.plot()


def in_a_page(found: Any, shown: Any) -> str:
    """What a notebook shows of what is found: its line, its verdict, and a figure or a table."""
    told = (f"<p>{html.escape(line)}</p>" for line in (repr(found), found.verdict))
    return "".join(told) + str(shown._repr_html_())


def arrays_of(record: Any) -> dict[str, Any]:
    """The arrays of a dataclass by their names, in the order of its fields."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    return {name: value for name, value in values.items() if hasattr(value, "shape")}


def in_a_line(record: Any, *told: str) -> str:
    """What a record comes to in one line, for its `__repr__`: its name, and what is said of it."""
    return f"{type(record).__name__}({', '.join(filter(None, told))})"


def in_short(record: Any) -> str:
    """A dataclass in one line, for its `__repr__`: of long arrays and tables, the shape alone.

    What was taken of a result begins with whose that is; `whose` of its own says it of several.
    """
    shown = [item.name for item in fields(record) if item.repr]
    whose = getattr(record, "whose", "") or getattr(getattr(record, "result", None), "whose", "")
    return in_a_line(record, whose, *(f"{of}: {_short(getattr(record, of))}" for of in shown))


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if shape := getattr(value, "shape", ()):
        if len(shape) == 1 and shape[0] <= _FEW:
            return "[" + ", ".join(map(_short, value.tolist())) + "]"
        what = "table" if hasattr(value, "columns") else "array"
        return f"{what} of {' x '.join(map(str, shape))}"
    told = repr(value)
    is_list = isinstance(value, Collection) and not isinstance(value, str)
    return f"{len(value)} of them" if is_list and len(told) > _LONG else told


def ends_told(distance: Any, mean: Any, count: Any, name: str, of: str) -> str:
    """The means at the shortest and at the longest of some distances, in a sentence.

    Args:
        distance: ascending.
        mean: at each; NaN where there is none.
        count: of how many pairs.
        name: what the distance is called.
        of: what the mean is of, as a phrase that follows it, such as " of c at K = 8".
    """
    known = [at for at, value in enumerate(mean) if value == value]
    if not known:
        return f"No pair has a score: there is no mean{of}."
    ends = dict.fromkeys((known[0], known[-1]))
    told = (
        f"{rounded(mean[at])} at {name} = {distance[at]} ({counted(int(count[at]), 'pair')})"
        for at in ends
    )
    return f"The mean{of} is {' and '.join(told)}."


def ends_in_short(distance: Any, mean: Any) -> str:
    """How many distances there are, and the means at the shortest and the longest, for a repr."""
    n = counted(len(distance), "distance")
    if not len(distance):
        return n
    ends = dict.fromkeys((0, len(distance) - 1))
    return f"{n}, mean " + ", ".join(f"{rounded(mean[at])} at {distance[at]}" for at in ends)
