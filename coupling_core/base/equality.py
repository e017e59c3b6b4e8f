"""Records that are equal where their content is, arrays included."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class SameContent:
    """A dataclass, made with `eq=False`, that equals another one with the same fields.

    What a field with `compare=False` says does not count, such as of which result it is. Arrays are
    the same to the last bit, and NaN is the same as NaN. There is no hash, as of arrays.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # an array that is compared with it leaves the answer to it

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False  # and not asked of the other: a table would make an array of this
        names = [item.name for item in fields(self) if item.compare]  # type: ignore[arg-type]
        return all(same(getattr(self, name), getattr(other, name)) for name in names)


def hash_of(values: Iterable[float]) -> int:
    """The hash of numbers that are equal as `same` has it: of any NaN it is the same."""
    return hash(tuple(None if value != value else value for value in values))


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same, arrays and tables by their content, and NaN as NaN."""
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        return np.array_equal(ours, theirs, equal_nan=ours.dtype.kind in "fc")
    if is_dataclass(ours) and type(ours) is type(theirs) and not isinstance(ours, SameContent):
        return all(same(getattr(ours, of.name), getattr(theirs, of.name)) for of in fields(ours))
    if hasattr(ours, "equals"):  # a table
        return bool(ours.equals(theirs))
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs or (ours != ours and theirs != theirs))  # NaN
