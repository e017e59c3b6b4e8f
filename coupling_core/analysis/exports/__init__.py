"""A result's numbers in the forms that other programs read.

    forms                       arrays as NPZ and NetCDF, tables as CSV and Parquet
    naming                      whose numbers a file has: its name, and columns
    graph                       of what is no one result

Those of a result are in the folder of its kind.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.exports.forms import (
    ENDINGS,
    FIRST,
    Variables,
    labelled,
    plain,
    to_csv,
    to_netcdf,
    to_npz,
    to_parquet,
    written,
)
from coupling_core.analysis.exports.naming import file_name, signed, signed_differences
from coupling_core.base.kinds import kind_of
from coupling_core.base.numbers import Column, Number, Seen, columns, dims_of, numbers_of, seen_in
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame
    from xarray import Dataset


def columns_of(kind: str) -> dict[str, Column]:
    """How the numbers of a kind stand for a whole result, by their names there."""
    return {
        number.column_name: replace(number.column, name=number.column_name)
        for number in numbers_of(kind)
        if number.column is not None
    }


def variables(result: Result, view: AnyView, k_view: int | None = None) -> Variables:
    """The arrays of a result's files in one view; matrices have `k_view` as their largest side."""
    return {number.name: variable for number, variable in _filed(seen_in(result, view, k_view))}


def _filed(seen: Seen) -> Iterator[tuple[Number, tuple[tuple[str, ...], np.ndarray]]]:
    for number in numbers_of(seen.result.request.kind):
        if number.in_files and number.where(seen):
            yield number, (dims_of(seen.result, number), number.values(seen))


def arrays(result: Result, view: AnyView) -> dict[str, np.ndarray]:
    """The same without the names."""
    return plain(variables(result, view))


def dataset(result: Result, view: AnyView) -> "Dataset":
    """The arrays of a result over their named dimensions, or its scores; each says what it is."""
    seen = seen_in(result, view)
    if isinstance(view, View):
        scored: Dataset = seen.derived.to_xarray()
        return scored
    filed = list(_filed(seen))
    told = getattr(seen.derived, "attributes", result.attributes)()
    found = labelled({number.name: variable for number, variable in filed}, told)
    for number, _ in filed:
        if number.name in found:
            found[number.name].attrs["long_name"] = number.what
    return found


def row(
    result: Result,
    view: AnyView,
    which: Callable[[Column], bool] = lambda column: column.of_prompts,
) -> dict[str, float]:
    """The numbers that stand for a whole result, by name; NaN where there is none."""
    seen = seen_in(result, view)
    return {
        number.column_name: number.column.over(number.values(seen))
        for number in numbers_of(result.request.kind)
        if number.column is not None and which(number.column) and number.where(seen)
    }


def attributes(result: Result, view: AnyView) -> dict[str, str | int | float]:
    """What a file tells of a result beside its numbers: whose it is, and how it is looked at."""
    told = {
        name: value for name, value in vars(view).items() if isinstance(value, str | int | float)
    }
    return told | {
        "model": str(result.identity.get("name", "")),
        "prompt": result.prompt_text,
        "kind": result.request.kind,
        "key": result.key,
        "certified": int(result.certified),
    }


def frame(result: Result, view: AnyView) -> "DataFrame":
    """What a result says in one view, as a table, whose `attrs` say whose it is."""
    numbers = kind_of(result.request.kind).part("numbers")
    found: DataFrame
    if isinstance(view, View):  # a row a pair
        found = numbers.derive(result, view).to_pandas()
    elif hasattr(numbers, "table"):
        found = numbers.table(result, view)
    else:
        found = _rows(result, view, numbers.ROWS)
    found.attrs.update(result.attributes())
    return found


def _rows(result: Result, view: AnyView, dim: str) -> "DataFrame":
    from pandas import DataFrame

    named = columns(result, view, dim)
    first, n = FIRST[dim], len(next(iter(named.values())))
    texts = {"text": result.tokens} if dim == "token" else {}
    return DataFrame({dim: range(first, first + n), **texts, **named})
