"""Files written whole or not at all, and a failed write in plain words."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from coupling_core.base.errors import ComputeError, CouplingError, InputError

TEMPORARY = ".tmp"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file so that a reader, or a crash at any moment, sees the old one or the new one.

    Raises:
        OSError: where that fails; the old file is untouched then.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if temporary.read_bytes() != data:
            raise OSError(errno.EIO, "what was written does not read back the same")
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
    _sync_folder(path.parent)


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
