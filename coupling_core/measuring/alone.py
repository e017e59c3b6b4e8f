"""One measurement at a time, whichever threads of a process ask.

What is hooked onto a model and put before its modules meanwhile, the number of threads and the
precision of products are there for all of them.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coupling_core.base.results import Progress

_HEARD = 0.1
"""Seconds between two looks at whether whoever waits has been stopped."""
_measuring = threading.RLock()


@contextmanager
def alone(report: Callable[[Progress], None]) -> Iterator[None]:
    """Wait until nobody else measures, and have the others wait while it lasts.

    Meanwhile the report is told that the model is not ready yet; an exception that it raises ends
    the waiting.
    """
    while not _measuring.acquire(timeout=_HEARD):
        report(Progress("loading"))
    try:
        yield
    finally:
        _measuring.release()
