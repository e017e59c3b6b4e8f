"""A sign of life of the worker, for whoever watches the app from outside.

While it measures, the worker notes the time in a file of the store at each step. A worker that is
stuck, or that has died in a job, stops doing so. The time is that of the machine's steady clock,
which nobody sets; and what a process noted counts for no longer than it lives, since the app that
is started after it has a worker of its own.
"""

import json
import math
import time
from contextlib import suppress
from pathlib import Path

import psutil

from coupling_core.base.writing import write_quietly
from coupling_core.store.disk import Store

FILE = ".worker"
EVERY = 1.0
"""Seconds between two notes at least: steps of a small model come by the hundred."""

STUCK = 900.0
"""Seconds after which a busy worker that says nothing is taken to be stuck: the longest step, to
read a large model from a slow disk, takes less."""

_SAME = 5.0
"""Seconds by which the birth of a process may seem to differ: it is told by the wall clock."""


class Heartbeat:
    """Notes that a worker lives.

    Args:
        folder: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._noted: tuple[bool, float] = (False, -math.inf)

    def beat(self, *, busy: bool) -> None:
        """Note the time, and whether a job is under way."""
        now = time.monotonic()
        was_busy, last = self._noted
        if busy == was_busy and now - last < EVERY:
            return
        self._noted = busy, now
        process = psutil.Process()
        note = {"busy": busy, "time": now, "pid": process.pid, "born": process.create_time()}
        if not write_quietly(self._path, json.dumps(note)):
            with suppress(OSError):  # a note that grows old would tell of a worker that is stuck
                self._path.unlink()


def problem(store: Store) -> str:
    """What is wrong with the worker of this store; "" where nothing is, or there was none yet."""
    try:
        noted = json.loads((store.root / FILE).read_text())
        busy, silent = bool(noted["busy"]), time.monotonic() - float(noted["time"])
        lives = _lives(int(noted["pid"]), float(noted["born"]))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{store.root / FILE} cannot be read: {error}"
    if busy and silent > STUCK and lives:
        return f"the worker is busy, and has said nothing for {silent / 60:.0f} minutes"
    return ""


def _lives(pid: int, born: float) -> bool:
    """Whether this process runs, and not another one that has its number now."""
    try:
        return abs(psutil.Process(pid).create_time() - born) < _SAME
    except (psutil.Error, ValueError):
        return False
