"""What stands beside prompts, as columns of a table that has columns of its own."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any


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
