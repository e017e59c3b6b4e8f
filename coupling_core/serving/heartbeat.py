"""A sign of life of each worker, for whoever watches the app from outside.

While it measures, a worker notes the time at each step, in a file that its process has in the
store: apps that share a store do not hide one another's. A worker that is stuck, or that has died
in a job, stops doing so. The time is that of the machine's steady clock, which nobody sets; and
what a process noted counts for no longer than it lives, since the app that is started after it has
a worker of its own.
"""

import json
import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from coupling_core.base.writing import write_quietly
from coupling_core.store.disk import Store

PREFIX = ".worker-"
"""What the notes' files are called, before the machine or container and the process."""

EVERY = 1.0
"""Seconds between two notes at least: steps of a small model come by the hundred."""

STUCK = 900.0
"""Seconds after which a busy worker that says nothing is taken to be stuck: the longest step, to
read a large model from a slow disk, takes less."""

_SAME = 5.0
"""Seconds by which the birth of a process may seem to differ: it is told by the wall clock."""


class Heartbeat:
    """Notes that this process's worker lives.

    Args:
        folder: of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, file_of(folder, os.getpid())
        self._noted: tuple[bool, float] = (False, -math.inf)

    def beat(self, *, busy: bool) -> None:
        """Note the time, and whether a job is under way."""
        now = time.monotonic()
        was_busy, last = self._noted
        if busy == was_busy and now - last < EVERY:
            return
        if last == -math.inf:
            _sweep(self._folder)
        self._noted = busy, now
        process = psutil.Process()
        note = {"busy": busy, "time": now, "pid": process.pid, "born": process.create_time()}
        if not write_quietly(self._path, json.dumps(note)):
            with suppress(OSError):  # a note that grows old would tell of a worker that is stuck
                self._path.unlink()


def file_of(folder: Path, pid: int) -> Path:
    """Where a process of this machine, or of this container, has its note."""
    return folder / f"{PREFIX}{socket.gethostname()}-{pid}"


def problem(store: Store) -> str:
    """What is wrong with the workers of this store; "" where nothing is, or there was none yet.

    Of another machine that shares the store nothing can be said from here.
    """
    return "; ".join(filter(None, (_problem(path) for path in _here(store.root))))


def _problem(path: Path) -> str:
    try:
        noted = json.loads(path.read_text())
        busy, silent = bool(noted["busy"]), time.monotonic() - float(noted["time"])
        pid, born = int(noted["pid"]), float(noted["born"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path} cannot be read: {error}"
    if busy and silent > STUCK and _lives(pid, born):
        minutes = f"{silent / 60:.0f} minutes"
        return f"the worker of process {pid} is busy, and has said nothing for {minutes}"
    return ""


def _sweep(folder: Path) -> None:
    """Remove what processes of this machine have left that are no more."""
    for path in _here(folder):
        pid = path.name.rpartition("-")[2]
        with suppress(OSError, ValueError):
            if not psutil.pid_exists(int(pid)):
                path.unlink()


def _here(folder: Path) -> Iterator[Path]:
    """All notes of this machine, or of this container."""
    machine = f"{PREFIX}{socket.gethostname()}"
    for path in folder.glob(f"{machine}-*"):
        if path.name.rpartition("-")[0] == machine:
            yield path


def _lives(pid: int, born: float) -> bool:
    """Whether this process runs, and not another one that has its number now."""
    try:
        return abs(psutil.Process(pid).create_time() - born) < _SAME
    except (psutil.Error, ValueError):
        return False
