"""Files written whole or not at all, and a failed write in plain words."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from coupling_core.base.errors import ComputeError, CouplingError, InputError

TEMPORARY = ".tmp"
CHOOSE_FOLDER = "choose a folder that you may write to"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside this one, which takes its place once it is written without an error."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{TEMPORARY}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file so that a reader, or a crash at any moment, sees the old one or the new one.

    Raises:
        OSError: where that fails; the old file is untouched then.
    """
    with replacing(path) as temporary:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if temporary.read_bytes() != data:
            raise OSError(errno.EIO, "what was written does not read back the same")
    _sync_folder(path.parent)


def write_quietly(path: Path, text: str) -> bool:
    """Replace a small file as a whole; whether that worked, for whoever can do without it.

    It is not forced to the disk, as some are written every second.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text)
    except OSError:
        return False
    return True


@contextmanager
def writing(path: Path, remedy: str = CHOOSE_FOLDER) -> Iterator[None]:
    """Turn a write that fails into plain words.

    Raises:
        InputError: where the path cannot be written.
        ComputeError: where the disk is full.
    """
    try:
        yield
    except OSError as error:
        raise refused_write(error, path, remedy) from error


def refused_write(error: OSError, path: Path, remedy: str) -> CouplingError:
    """A failed write in plain words: a full disk is no fault of the input, all else is."""
    why = error.strerror or str(error)
    if error.errno in _FULL:
        return ComputeError(
            f"{path} could not be written, for the disk is full ({why}): free some space, remove "
            "results that are no longer needed, or choose another disk; what was stored before "
            "is untouched"
        )
    return InputError(f"{path} cannot be written ({why}): {remedy}")


def _sync_folder(folder: Path) -> None:
    # Not every system lets a folder be opened; the rename is then as durable as it makes it.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
