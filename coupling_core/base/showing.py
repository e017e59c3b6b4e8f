"""Records of arrays in one line, as a notebook prints them: their numbers would fill pages."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

_LONG = 60
"""Letters from which on it is only told how many there are of what is in a list."""


def in_short(record: Any) -> str:
    """A dataclass in one line, for its `__repr__`: of arrays and tables, the shape alone."""
    told = (f"{item.name}: {_short(getattr(record, item.name))}" for item in fields(record))
    return f"{type(record).__name__}({', '.join(told)})"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if shape := getattr(value, "shape", ()):
        return " x ".join(map(str, shape))
    told = repr(value)
    is_list = isinstance(value, Collection) and not isinstance(value, str)
    return f"{len(value)} of them" if is_list and len(told) > _LONG else told
