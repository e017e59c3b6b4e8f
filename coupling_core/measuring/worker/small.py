"""A process beside the worker, without torch, for libraries that end theirs on some files.

It is there at once, and when it dies no measurement dies with it.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from coupling_core.base.errors import ComputeError
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
    with suppress(ComputeError):
        return _process.call(partial(_bounded, work), longest=SECONDS)
    return None


def _bounded(work: Callable[[], Any]) -> Any:
    with suppress(ImportError):  # where the system has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with suppress(MemoryError):
        return work()
    return None
