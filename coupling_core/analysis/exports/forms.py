"""The forms that other programs read: NumPy archives and CSV."""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


def to_npz(named: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the content of an .npz file, without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **named)
    return buffer.getvalue()


def to_csv(table: "DataFrame", *, index: bool = False) -> bytes:
    """A table as the content of a .csv file; a value that does not exist is left empty."""
    # The line ends of RFC 4180 have either of their characters quoted.
    return table.to_csv(index=index, lineterminator="\r\n").encode()
