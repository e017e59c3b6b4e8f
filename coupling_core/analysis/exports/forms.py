"""The forms that other programs read: NumPy archives and NetCDF, CSV and Parquet."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.base.extras import needed

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

ENDINGS = (".npz", ".nc", ".csv", ".parquet")
"""Of files of numbers: two of arrays, two of a table."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""What a text begins with that a spreadsheet computes, or that stands for such a text."""


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

    Raises:
        InputError: where pyarrow is missing, with the remedy.
    """
    with needed("files"):
        import pyarrow  # noqa: F401
    buffer = io.BytesIO()
    table.to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def to_netcdf(
    named: Mapping[str, np.ndarray],
    axes: Mapping[str, Sequence[str]],
    attributes: Mapping[str, str | int | float] | None = None,
) -> bytes:
    """Arrays as the content of a .nc file: NetCDF 4, whose axes have names.

    Args:
        named: the arrays.
        axes: names of the axes of each; one that is not here has axes of its own.
        attributes: what else is told of them all.

    Raises:
        InputError: where xarray or h5netcdf is missing, with the remedy.
    """
    with needed("files"):
        import h5netcdf  # noqa: F401
        from xarray import Dataset
    variables = {
        name: (tuple(axes.get(name, [f"{name}_{i}" for i in range(values.ndim)])), _plain(values))
        for name, values in named.items()
    }
    told = (attributes or {}).items()  # NetCDF has no truth values
    attrs = {name: int(value) if isinstance(value, bool) else value for name, value in told}
    found = Dataset(variables, attrs=attrs)
    return bytes(found.to_netcdf(engine="h5netcdf"))


def _plain(values: np.ndarray) -> np.ndarray:
    """Texts as objects, which NetCDF stores at any length."""
    return values.astype(object) if values.dtype.kind == "U" else values


def written(
    ending: str,
    table: "Callable[[], DataFrame]",
    named: Callable[[], Mapping[str, np.ndarray]],
    axes: Mapping[str, Sequence[str]],
    attributes: Mapping[str, str | int | float] | None = None,
) -> bytes | None:
    """Numbers as the content of a file, or None where its ending is of no form of numbers.

    Args:
        ending: one of `ENDINGS`, or another.
        table: makes the table.
        named: makes the arrays.
        axes: names of their axes.
        attributes: what else a .nc file tells.
    """
    match ending:
        case ".csv":
            return to_csv(table())
        case ".parquet":
            return to_parquet(table())
        case ".npz":
            return to_npz(named())
        case ".nc":
            return to_netcdf(named(), axes, attributes)
    return None


def inert(table: "DataFrame") -> "DataFrame":
    """A table of which a spreadsheet computes no text, such as the token `=1+1`.

    Texts that begin as formulas do have `'` before them; numbers are as they are. `as_read` takes
    it away again, and leaves every other text alone.
    """
    from pandas import Series
    from pandas.api.types import is_numeric_dtype

    found = table.copy(deep=False)
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


def _inert(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
