"""The forms that other programs read: NumPy archives and NetCDF, CSV and Parquet."""

import io
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.extras import needed

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame
    from xarray import Dataset

Variables = Mapping[str, tuple[tuple[str, ...], np.ndarray]]
"""Arrays by name, each with the names of its axes."""
Attributes = Mapping[str, str | int | float]

ENDINGS = (".npz", ".nc", ".csv", ".parquet")
"""Of files of numbers: two of arrays, two of a table."""

_LISTED = {
    **{one: f"{one}s" for one in ("block", "step", "suite", "edit", "factor", "way", "side")},
    "basis": "blocks",
    "readout": "readouts",
    "size": "noise_sizes",
    "distance_step": "distance",
}
"""Axes whose numbers or names are an array of the file."""
_NAMED = {"part": ("real", "imaginary"), "sign": ("positive", "negative")}
"""What stands along an axis of every result."""
_TOKENS = {"tokens": "text", "token_ids": "token_id"}
"""Arrays along the tokens, and what a dataset calls them."""
FIRST = {"state": 0} | dict.fromkeys(
    (
        *("block", "basis", "slot", "token", "other_token", "k", "component", "neighbour"),
        *("outcome", "draw", "order", "place", "first", "last"),
    ),
    1,
)
"""Where the numbers of an axis begin, which no array of the file lists."""

_NUL = "␀"
"""Stands for the character 0, which ends a text in NetCDF."""
_FORMULA = re.compile(r"'*(?![+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)[=+\-@\t\r]")
"""How a text begins that a spreadsheet computes, or that stands for such a text: no number."""


def plain(named: Variables) -> dict[str, np.ndarray]:
    """The arrays without the names of their axes."""
    return {name: values for name, (_, values) in named.items()}


def to_npz(named: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the content of an .npz file, without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **named)
    return buffer.getvalue()


def to_csv(table: "DataFrame", *, index: bool = False) -> bytes:
    """A table as the content of a .csv file; a value that does not exist is left empty."""
    # The line ends of RFC 4180 have either of their characters quoted.
    return inert(table).to_csv(index=index, lineterminator="\r\n").encode()


def to_parquet(table: "DataFrame") -> bytes:
    """A table as the content of a .parquet file, with the types and bits of its numbers.

    A column that no one type holds has texts; `InputError` where pyarrow is missing.
    """
    with needed("files"):
        import pyarrow
    written = table.copy(deep=False)
    for name, column in table.items():
        # In Parquet, each dictionary would have the keys of all.
        is_one_type = column.dtype != object or not any(isinstance(it, dict) for it in column)
        try:
            pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, OverflowError):
            is_one_type = False
        if not is_one_type:
            written[name] = column.map(_text, na_action="ignore")
    buffer = io.BytesIO()
    written.to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def to_netcdf(named: Variables, attributes: Attributes | None = None) -> bytes:
    """Arrays as the content of a .nc file, NetCDF 4; `InputError` where a package is missing."""
    with needed("files"):
        import h5netcdf  # noqa: F401
        from xarray import Dataset
    along = {axis: _plain(numbers) for axis, numbers in _coordinates(named).items()}
    attrs = {name: _plain_attribute(value) for name, value in (attributes or {}).items()}
    variables = {name: (dims, _plain(values)) for name, (dims, values) in named.items()}
    return bytes(Dataset(variables, along, attrs).to_netcdf(engine="h5netcdf"))


def _along(axis: str, size: int, named: Variables) -> np.ndarray | None:
    """What stands along an axis, so that block 12 is had by 12 (in a comparison, of A); or None."""
    if names := _NAMED.get(axis):
        return np.array(names)
    suite, _, kind = axis.rpartition("_")
    dims, numbers = named.get(_LISTED.get(axis, f"{suite}_{kind}s"), ((), np.empty(0)))
    own = axis.replace("basis", "block")
    if dims == ("side", own):
        dims, numbers = (own,), numbers[0]
    if dims == (own,) and numbers.shape == (size,):
        return numbers
    first = FIRST.get(axis, FIRST.get(kind))
    return None if first is None else np.arange(first, first + size)


def labelled(named: Variables, attributes: Attributes) -> "Dataset":
    """Arrays over their named dimensions, with the numbers, names or texts along these."""
    from xarray import Dataset

    along: dict[str, Any] = {**_coordinates(named)}
    listed = {*_TOKENS, *(_LISTED.get(axis) for axis in along)}
    along |= {to: named[name] for name, to in _TOKENS.items() if name in named}
    kept = {name: variable for name, variable in named.items() if name not in listed}
    return Dataset(kept, along, attributes)


def _coordinates(named: Variables) -> dict[str, np.ndarray]:
    """What stands along the dimensions, as far as anything does."""
    sizes = {
        axis: size
        for dims, values in named.values()
        for axis, size in zip(dims, values.shape, strict=True)
    }
    known = {axis: _along(axis, size, named) for axis, size in sizes.items()}
    return {axis: numbers for axis, numbers in known.items() if numbers is not None}


def _plain(values: np.ndarray) -> np.ndarray:
    """Texts as objects, which NetCDF stores at any length."""
    if values.dtype.kind != "U":
        return values
    # np.char.replace takes "\0" for an empty text, which stands between all letters.
    texts = [_plain_attribute(text) for text in values.ravel().tolist()]
    return np.array(texts, dtype=object).reshape(values.shape)


def _plain_attribute(value: str | int | float) -> str | int | float:
    """As NetCDF has it, where there are no truth values."""
    if isinstance(value, str):
        return value.replace("\0", _NUL)
    return int(value) if isinstance(value, bool) else value


def written(
    ending: str,
    table: "Callable[[], DataFrame]",
    named: Callable[[], Variables],
    attributes: Attributes | None = None,
) -> bytes | None:
    """Numbers as a file; only what its ending names is made, and None for another ending."""
    match ending:
        case ".csv":
            return to_csv(table())
        case ".parquet":
            return to_parquet(table())
        case ".npz":
            return to_npz(plain(named()))
        case ".nc":
            return to_netcdf(named(), attributes)
    return None


def inert(table: "DataFrame") -> "DataFrame":
    """A table of which a spreadsheet computes no text: `'` stands before such, until `as_read`."""
    from pandas import Series
    from pandas.api.types import is_numeric_dtype

    found = table.copy(deep=False)
    found.columns = found.columns.map(_inert)
    for at, kind in enumerate(table.dtypes):
        if not is_numeric_dtype(kind):
            cells = [_inert(cell) for cell in table.iloc[:, at]]
            found.isetitem(at, Series(cells, table.index, dtype=kind))
    if not is_numeric_dtype(table.index.dtype):
        found.index = found.index.map(_inert)
    return found


def as_read(cell: str) -> str:
    """The text that a cell of a .csv file stands for."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _text(cell: Any) -> str:
    """A cell of a column of texts; what nests, as its JSON."""
    if isinstance(cell, dict | list):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def _inert(cell: Any) -> Any:
    cell = _text(cell) if isinstance(cell, dict | list) else cell
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
