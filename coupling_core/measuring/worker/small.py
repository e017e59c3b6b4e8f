"""A process beside the worker, without torch, for libraries that end theirs on some files.

It is there at once, and when it dies no measurement dies with it.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.results import Progress
from coupling_core.measuring.worker import serving
from coupling_core.measuring.worker.asking import Worker

MEMORY = 3 * 2**29
"""Bytes of addresses that it may have; it begins with a third of them."""
SECONDS = 10.0
"""That a call may take."""

_process = Worker(modules=(), grace=0)


def run(work: Callable[[], Any]) -> Any:
    """Run a function of a module there; None where that ended the process, or took too long.

    In a process that may die already it is run as it is: the bound would hold that one for good.
    """
    if serving.serves:
        return work()
    end = time.monotonic() + SECONDS

    def look(_: Progress) -> None:
        if time.monotonic() > end:
            raise TimeoutError

    with suppress(ComputeError, TimeoutError):
        return _process.call(partial(_bounded, work), progress=look)
    return None


def _bounded(work: Callable[[], Any], progress: Callable[[Progress], None]) -> Any:
    with suppress(ImportError):  # where the system has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with suppress(MemoryError):
        return work()
    return None
