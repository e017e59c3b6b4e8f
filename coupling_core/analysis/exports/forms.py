"""The forms that other programs read: NumPy archives and CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def to_npz(named: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the content of an .npz file, without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **named)
    return buffer.getvalue()


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows as the content of a .csv file; a value that does not exist is left empty."""
    text = io.StringIO()
    writer = csv.writer(text)  # its line ends, those of RFC 4180, have it quote either of them
    writer.writerow(header)
    writer.writerows([["" if value != value else value for value in row] for row in rows])
    return text.getvalue().encode()
