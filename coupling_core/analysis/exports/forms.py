"""The forms that other programs read: NumPy archives and CSV."""

import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

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
