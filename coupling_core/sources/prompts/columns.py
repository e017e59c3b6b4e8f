"""What stands beside prompts, as columns of a table that has columns of its own."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from coupling_core.base.units import EXACT

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame, Series

_WORD = 2**63
"""Whole numbers up to which are columns of numbers."""
LONGEST = 900
"""Digits from which on a number is a text: Python refuses to read more than a few thousand."""
_TRUTHS = {"True": True, "False": False}
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?(?<=[\d.])([eE][+-]?\d+)?", re.ASCII)


def own_columns(fields: Iterable[Mapping[str, Any]], taken: Collection[str]) -> dict[str, str]:
    """The columns that hold what stands beside prompts, in the order in which they first come.

    The column of each name is the name itself, with `prompt_` before it where the table has taken
    it.
    """
    names = dict.fromkeys(name for each in fields for name in each)
    columns = {}
    for name in names:
        column = name
        while column in taken or (column != name and column in names):
            column = f"prompt_{column}"
        columns[name] = column
    return columns


def own_cells(fields: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """What stands beside one prompt, by column; NaN where nothing does."""
    found = {column: fields.get(name) for name, column in columns.items()}
    return {column: math.nan if value is None else value for column, value in found.items()}


def set_own(table: "DataFrame", own: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the columns that hold what stands beside prompts into a table, as they came.

    Whole numbers keep all their digits, though some are missing or too long for a machine's word.
    """
    for name in own:
        table[name] = _column([row[name] for row in rows])


def read_back(cells: Sequence[str]) -> "Series":
    """A column of a table of ours as it was before it was written; NaN where a cell is empty."""
    return _column([math.nan if cell is None else cell for cell in typed(cells)])


def _column(values: Sequence[Any]) -> "Series":
    from pandas import Series

    filled = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
    is_whole = all(isinstance(value, Integral) and not isinstance(value, bool) for value in filled)
    if not filled or not is_whole:
        is_exact = all(abs(int(value)) <= EXACT for value in filled if isinstance(value, Integral))
        return Series(values, dtype=None if is_exact else object)
    if any(abs(int(value)) >= _WORD for value in filled):
        return Series(values, dtype=object)
    return Series(
        [None if isinstance(value, float) else value for value in values],
        dtype="Int64" if len(filled) < len(values) else "int64",
    )


def typed(cells: Sequence[str]) -> list[Any]:
    """A column of a CSV file as a frame would have it.

    Args:
        cells: as they stand in the file. An empty one is None. What begins with a needless zero,
            such as 007, is a name and no number.

    Returns:
        numbers, or True and False, where every cell is one; else texts.
    """
    filled = [cell for cell in cells if cell]
    if filled and {*filled} <= _TRUTHS.keys():
        return [_TRUTHS.get(cell) for cell in cells]
    if all(map(_WHOLE.fullmatch, filled)) and max(map(len, filled), default=0) < LONGEST:
        return [int(cell) if cell else None for cell in cells]
    if all(map(_is_decimal, filled)):
        return [float(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]


def _is_decimal(cell: str) -> bool:
    """Whether a float has what a cell says; of a whole number that is all of its digits."""
    if len(cell) >= LONGEST or not _DECIMAL.fullmatch(cell) or not any(c.isdigit() for c in cell):
        return False
    number = float(cell)
    return math.isfinite(number) and (not _WHOLE.fullmatch(cell) or int(number) == int(cell))
