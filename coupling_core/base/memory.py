"""Main memory: how much is free on this machine or in this container, and that it ran out."""

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import psutil

from coupling_core.base.settings import settings

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
"""Where Linux tells a process of its control groups' limits, and of its place among them."""

_FILES = (
    ("", ("memory.max", "memory.current", "inactive_file")),
    ("memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
)
"""Of both versions: the controller, with what is allowed, what is taken, and files' part of it."""

_SIGNS = (
    "out of memory",
    "can't allocate memory",
    "Cannot allocate memory",
    "not enough memory",
    "could not create a primitive",
    "std::bad_alloc",
    "can't start new thread",
    "ALLOC_FAILED",
)
"""What an allocation that failed is called where it has no exception of its own."""

_ASKED = re.compile(r"allocate (\d+(?:\.\d*)?) (bytes|KiB|MiB|GiB|TiB)")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def free_memory() -> int:
    """Bytes that are free, or will be once files that are read again at need are let go of."""
    return min([psutil.virtual_memory().available, *_free_in_group()])


def usable_memory() -> int:
    """Bytes that a measurement may take: what is free, less what is set to be kept in reserve."""
    return max(0, free_memory() - settings().memory_reserve)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that it was raised in place of, says that memory ran out."""
    return any(map(_says_so, _chain(error)))


def asked_bytes(error: BaseException) -> int:
    """How much could not be had; 0 where the error does not say."""
    found = _ASKED.search(str(error))
    return int(float(found[1]) * _UNITS[found[2]]) if found else 0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _says_so(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def _free_in_group() -> list[int]:
    """What the limits of a container, or of any other group that this process is in, leave."""
    left = [_left(folder, *names) for of, names in _FILES for folder in groups(of)]
    return [free for free in left if free is not None]


def groups(controller: str) -> Iterator[Path]:
    """Folders of this process's control groups, of a controller such as "cpu" or of version 2."""
    try:
        own = [line.split(":", 2) for line in _OWN.read_text().splitlines()]
    except OSError:  # no Linux
        own = []
    root = _GROUPS / controller
    # In a container the groups may be seen from its own one, and its path from outside.
    folders = {root}
    for _, controllers, path in own:
        if controller in controllers.split(","):
            place = root / path.lstrip("/")
            folders |= {place, *place.parents}
    yield from (folder for folder in folders if folder.is_relative_to(root))


def _left(folder: Path, limit: str, taken: str, of_files: str) -> int | None:
    """What the limit of one group leaves; None where there is none."""
    try:
        most, now = (int((folder / name).read_text()) for name in (limit, taken))
        lines = (folder / "memory.stat").read_text().splitlines()
        given_back = sum(int(line.split()[1]) for line in lines if line.startswith(f"{of_files} "))
    except (OSError, ValueError):  # "max" is no limit
        return None
    return max(0, most - now + given_back)
