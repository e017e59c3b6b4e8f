"""The one door for files, whoever wrote them: regular ones, and never more than a bound of them.

A pipe would be waited for without end, and a device gives bytes without end.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from coupling_core.base.units import size

TEXT = 2**24
"""Bytes of a file that people write: prompts, tables, sweeps. What is made of them takes more."""


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A file, to be read; raises `OSError` where it is no regular file, or cannot be opened."""
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not a file on a disk")
        yield file


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a file of at most so many bytes; raises `OSError` as `opened`, and on more."""
    with opened(path) as file:
        there = os.fstat(file.fileno()).st_size
        if there > most:
            raise OSError(errno.EFBIG, f"it has {size(there)}, and at most {size(most)} are read")
        data = file.read(there + 1)
    if len(data) != there:
        raise OSError(errno.EIO, "it changed while it was read")
    return data


def is_hidden(path: Path) -> bool:
    """Whether a path leads through what systems and editors keep for themselves: `._a.png`."""
    return any(part.startswith(".") and part.strip(".") for part in path.parts)


def _open_at_once(path: str, flags: int) -> int:
    # Else the opening of a pipe waits for whoever writes to it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
