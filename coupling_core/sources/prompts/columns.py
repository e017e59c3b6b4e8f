"""What stands beside prompts, as columns of a table that has columns of its own."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

_TRUTHS = {"True": True, "False": False}
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")
_DECIMAL = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?(?<=[\d.])([eE][+-]?\d+)?")


def own_columns(fields: Iterable[Mapping[str, Any]], taken: Collection[str]) -> dict[str, str]:
    """The columns that hold what stands beside prompts, in the order in which they first come.

    Args:
        fields: what stands beside each prompt, by the name it has there.
        taken: the names of the table's own columns.

    Returns:
        the column for each name: the name itself, with `prompt_` before it where it is taken.
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
    """What stands beside one prompt, by column; NaN where nothing does.

    Args:
        fields: what stands beside the prompt, by the name it has there.
        columns: the column for each name, as `own_columns` gives them.
    """
    found = {column: fields.get(name) for name, column in columns.items()}
    return {column: math.nan if value is None else value for column, value in found.items()}


def read_back(cells: Sequence[str]) -> list[Any]:
    """A column of a table of ours as it was before it was written; NaN where a cell is empty."""
    return [math.nan if cell is None else cell for cell in typed(cells)]


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
    if all(map(_WHOLE.fullmatch, filled)):
        return [int(cell) if cell else None for cell in cells]
    if all(map(_is_decimal, filled)):
        return [float(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]


def _is_decimal(cell: str) -> bool:
    return bool(_DECIMAL.fullmatch(cell)) and any(c.isdigit() for c in cell)
