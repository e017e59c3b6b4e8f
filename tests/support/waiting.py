"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 150
"""Seconds, for a slow machine; nothing is timed."""


def until(look: Callable[[], T], patience: float = PATIENCE) -> T:
    """What a look gives, once it is true."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.01)
    return found


def end_of(jobs: Any, key: str) -> Any:
    """The status of a job once it has ended."""
    return until(lambda: (s := jobs.status(key)).state not in ("queued", "running") and s)
