"""A sign of life of the worker, for whoever watches the app from outside.

While it measures, the worker notes the time in a file of the store at each step. A worker that is
stuck, or whose process has died in a job, stops doing so.
"""

import json
import time
from contextlib import suppress
from pathlib import Path

from coupling_core.store import Store

FILE = ".worker"
EVERY = 1.0
"""Seconds between two notes at least: steps of a small model come by the hundred."""

STUCK = 900.0
"""Seconds after which a busy worker that says nothing is taken to be stuck: the longest step, to
read a large model from a slow disk, takes less."""


class Heartbeat:
    """Notes that a worker lives.

    Args:
        folder: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._noted: tuple[bool, float] = (False, 0.0)

    def beat(self, *, busy: bool) -> None:
        """Note the time, and whether a job is under way."""
        now = time.time()
        was_busy, last = self._noted
        if busy == was_busy and now - last < EVERY:
            return
        self._noted = busy, now
        with suppress(OSError):  # a store that cannot be written is told elsewhere
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({"busy": busy, "time": now}))


def problem(store: Store) -> str:
    """What is wrong with the worker of this store; "" where nothing is, or there was none yet."""
    try:
        noted = json.loads((store.root / FILE).read_text())
        busy, last = bool(noted["busy"]), float(noted["time"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{store.root / FILE} cannot be read: {error}"
    silent = time.time() - last
    if busy and silent > STUCK:
        return f"the worker is busy, and has said nothing for {silent / 60:.0f} minutes"
    return ""
