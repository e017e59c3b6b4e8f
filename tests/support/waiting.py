"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable
from typing import TypeVar

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
