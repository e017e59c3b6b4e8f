"""Files written whole or not at all, and a failed write in plain words."""

import errno
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from coupling_core.base.errors import ComputeError, CouplingError, InputError

TEMPORARY = ".tmp"
ABANDONED_AFTER = 3600.0
"""Seconds; no writer is silent for so long."""
_LEFT = re.compile(rf"\..+\.[0-9a-f]+{re.escape(TEMPORARY)}")
CHOOSE_FOLDER = "choose a folder that you may write to"
_DISK = "free some space, remove results that are no longer needed, or choose another disk"
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO), _DISK),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "close other programs, or raise `ulimit -n`"),
}
"""Of a write that fails since the machine lacks something."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside this one, which takes its place once it is written without an error."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{TEMPORARY}")
    try:
        yield temporary
        with suppress(OSError):
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def target(path: Path) -> Path:
    """What a link leads to, else the path itself; raises `OSError` where it is no file."""
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is no file")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return path


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A new folder beside this one, which takes its place once it is written without an error."""
    folder = folder.absolute()
    temporary = folder.with_name(f".{folder.name}.{uuid4().hex}{TEMPORARY}")
    temporary.mkdir()
    try:
        yield temporary
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def require_new(folder: Path) -> None:
    """Refuse a folder that has something in it, or cannot be made."""
    with writing(folder):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InputError(f"{folder} is no folder: give one that is empty, or not there yet")
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"the folder {folder} is not empty: give one that is, or is not there yet"
            )
        if not folder.absolute().parent.is_dir():
            raise InputError(f"there is no folder {folder.absolute().parent}; make it first")


def sweep(folder: Path) -> None:
    """Delete what writers in a folder left behind that died; a living one has written just now."""
    for path in folder.glob(f".*{TEMPORARY}"):
        with suppress(OSError):
            if _LEFT.fullmatch(path.name) and time.time() - path.stat().st_mtime > ABANDONED_AFTER:
                path.unlink()


def write_whole(path: Path, data: bytes, *, follow: bool = True) -> None:
    """Replace a file so that a reader, or a crash at any moment, sees the old one or the new one.

    With `follow` a link stays one, and what it leads to is replaced.
    """
    path = target(path) if follow else path
    with replacing(path) as temporary:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if temporary.read_bytes() != data:
            raise OSError(errno.EIO, "what was written does not read back the same")
    with suppress(OSError):  # not every system lets a folder be opened: it is then as durable
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_quietly(path: Path, text: str) -> bool:
    """Replace a small file, unforced to the disk, which may fail; whether that worked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text)
    except OSError:
        return False
    return True


@contextmanager
def writing(path: Path, remedy: str = CHOOSE_FOLDER) -> Iterator[None]:
    """Turn a write that fails into an `InputError`, or a `ComputeError` of a full disk."""
    try:
        yield
    except OSError as error:
        raise refused_write(error, path, remedy) from error


def refused_write(error: OSError, path: Path, remedy: str) -> CouplingError:
    """A failed write in plain words; what the machine lacks is no fault of the input."""
    why = error.strerror or str(error)
    if error.errno not in _REMEDIES:
        return InputError(f"{path} cannot be written ({why}): {remedy}")
    return ComputeError(
        f"{path} could not be written ({why}): {_REMEDIES[error.errno]}; what was stored before is "
        "untouched"
    )
