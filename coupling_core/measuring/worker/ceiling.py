"""The memory that the process which measures may take, held by the system.

Beyond it an allocation fails, which is told as any lack of memory is, and the process goes on. The
system's own remedy is to kill a process: this one at best, and at worst the app.

Linux counts what a process may write and shares with nobody (RLIMIT_DATA). That is what it has
allocated, and the weights that it maps from files, which the system takes back as it needs to: so
what may be taken is looked at anew, once the weights are mapped.
"""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Thread

import psutil

from coupling_core.base.memory import usable_memory

HOLDS = sys.platform == "linux"
"""Whether there is such a limit."""

LEAST = 2**28
"""Bytes that are allowed in any case: what a question takes, and to say that no more are free."""

NEAR = 0.9
"""Part of what is allowed from which on a process is short of memory."""

_changing = Lock()


def renew(mapped: int = 0) -> None:
    """Allow what is taken already, and what is free now less the reserve.

    So many bytes of files will be mapped besides.
    """
    if not HOLDS:
        return
    size = psutil.Process().memory_info().data + max(LEAST, usable_memory()) + mapped
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = size if hard == resource.RLIM_INFINITY else min(size, hard)  # an operator's own
    with _changing:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def lifted() -> Iterator[None]:
    """Allow everything meanwhile, so that what went wrong can be told."""
    if not HOLDS:
        yield
        return
    with _changing:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def begin_threads_outside() -> None:
    """Let each thread of this process begin outside the limit, whoever starts it.

    Python waits for ever for a thread that has no room to begin, and libraries have threads too.
    """
    start = Thread.start

    def start_outside(self: Thread) -> None:
        with lifted():
            start(self)

    Thread.start = start_outside  # type: ignore[method-assign]


def is_near(pid: int) -> bool:
    """Whether a process is short of memory: what ends it then is the want of it."""
    if not HOLDS:
        return False
    try:
        process = psutil.Process(pid)
        soft, _ = process.rlimit(psutil.RLIMIT_DATA)
        return soft != resource.RLIM_INFINITY and process.memory_info().data > NEAR * soft
    except psutil.Error:  # it has ended
        return False
