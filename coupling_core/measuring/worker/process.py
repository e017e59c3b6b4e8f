"""One process that runs functions for this one, and how it ended."""

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pickle import dumps, loads  # nosec B403  # between the two ends of a pipe of our own
from queue import Empty, SimpleQueue
from typing import Any

from coupling_core.base import errors
from coupling_core.base.errors import ComputeError, CouplingError
from coupling_core.base.logs import FRAMES
from coupling_core.base.results import Progress
from coupling_core.base.units import duration
from coupling_core.measuring.worker import ceiling
from coupling_core.measuring.worker.serving import ALIVE, NO_MEMORY

LOOK = 0.5
"""Seconds after which whoever waits is asked whether he still does."""

SILENT = 40
"""Looks in a row at a process that showed no sign of life, after which it is taken to hang. They
are counted, since a clock also runs while this process is stopped itself."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""By which the libraries are told how many threads they have."""

_STDERR = 2
_SERVE = "from coupling_core.measuring.worker.serving import main; main()"
_ENDS = ("done", "failed", "died")
_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FAULTY = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Death:
    """How a process ended.

    Args:
        status: as `subprocess` has it: an exit status, or the negative number of a signal.
        meant: whether it was ended from here, as one that no longer answers.
        short: whether it had next to no memory left: libraries that cannot have any end a process
            in many ways.
        stack: of its threads, where a fault of its own ended it.
    """

    status: int
    meant: bool = False
    short: bool = False
    stack: str = ""

    @property
    def thread(self) -> int | None:
        """In which it happened; None where that is not known."""
        found = _FAULTY.search(self.stack)
        return int(found[1], 16) if found else None

    @property
    def from_outside(self) -> bool:
        """Whether the system or a person ended it, and no fault of what it did."""
        return -self.status in _OUTSIDE or self.is_killed

    @property
    def is_killed(self) -> bool:
        """Whether it was ended for want of memory, by the system as far as can be known."""
        return self.short or self.status in (-signal.SIGKILL, NO_MEMORY)

    @property
    def how(self) -> str:
        """The signal's name, or the exit status."""
        if self.status == NO_MEMORY:
            return "a lack of memory"
        if self.status >= 0:
            return f"exit status {self.status}"
        return signal.Signals(-self.status).name


class Died(Exception):
    """The process ended before a call did.

    Args:
        death: how.
        by_this: whether that may be this call's doing.
    """

    def __init__(self, death: Death, *, by_this: bool) -> None:
        super().__init__(death.how)
        self.death, self.by_this = death, by_this


class Teller:
    """Tells how far a call is, each time with the last result so far, whatever it goes through.

    Args:
        report: is told.
    """

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report, self._last = report, Progress("loading")

    def tell(self, progress: Progress) -> None:
        """Tell what is new."""
        told = replace(progress, partial=progress.partial or self._last.partial)
        self._last = replace(told, note="") if told.note else told
        self._report(told)

    def ask(self) -> None:
        """Tell the last once more, which raises where nobody waits any more."""
        self._report(self._last)


class _Call:
    """A function that runs there, and what is said of it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.said: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.thread: int | None = None
        self.ended = False

    def hear(self, patience: float) -> tuple[str, Any]:
        """The next that is said, and its kind: "silence" where it is nothing."""
        try:
            kind, value = self.said.get(timeout=patience)
        except Empty:
            return "silence", None
        self.ended = kind in _ENDS
        told = loads(value) if isinstance(value, bytes) else value  # nosec B301  # the same
        return kind, told


class Process:
    """A process that runs functions of this program, each in a thread of its own.

    Args:
        modules: what it imports first.
        library_threads: that the libraries have in it; None leaves it to them.
    """

    def __init__(self, modules: Sequence[str] = (), library_threads: int | None = None) -> None:
        self.death: Death | None = None
        self._meant = self._short = False
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}
        self._beats = 0  # none before all is imported there, which may take its time
        self._numbers = count()
        self._told = {} if library_threads is None else dict.fromkeys(THREADS, str(library_threads))
        self._crash = tempfile.TemporaryFile()
        self._pipe, theirs = Pipe()
        self._words: SimpleQueue[object] = SimpleQueue()
        started: Future[subprocess.Popen[bytes]] = Future()
        threading.Thread(
            target=self._live, args=(theirs, modules, started), name="worker's pipe", daemon=True
        ).start()
        self._process = started.result()
        threading.Thread(target=self._speak, name="worker's ear", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def run(
        self, work: Callable[..., Any], teller: Teller | None, grace: float, longest: float
    ) -> Any:
        """Run a function there, and wait for what it gives.

        Args:
            work: what to run, with its arguments.
            teller: of what it is told there by its argument `progress`; None gives it none.
            grace: seconds that it has to end in, once nobody waits for it any more.
            longest: seconds for which it is waited for while it says nothing.

        Raises:
            Died: where the process ended before the function did.
            ComputeError: where it said nothing for longer.
            Exception: what the function raised, or the teller did.
        """
        call = self._begin(work, is_watched=teller is not None)
        silent = time.monotonic()
        looks = beats = 0
        try:
            while True:
                kind, value = call.hear(LOOK)
                self._short |= ceiling.is_near(self.pid)
                if kind != "silence":
                    silent = time.monotonic()
                looks = looks + 1 if beats == self._beats else 0
                beats = self._beats
                if beats and looks >= SILENT:
                    self.end()
                if kind == "done":
                    return value
                if kind == "failed":
                    raise _error(*value)
                if kind == "died":
                    raise value
                if teller and kind == "progress":
                    teller.tell(value)
                elif teller and kind == "silence":
                    teller.ask()
                if time.monotonic() - silent > longest:
                    raise ComputeError(
                        f"the worker process has said nothing for {duration(longest)}, so another "
                        "takes its place: try again"
                    )
        finally:
            self._stop(call, grace)

    def end(self) -> None:
        """End it at once."""
        self._meant = True
        self._process.kill()

    def _begin(self, work: Callable[..., Any], *, is_watched: bool) -> "_Call":
        with self._lock:
            call, self._short = _Call(next(self._numbers)), False
            self._calls[call.number] = call
            if self.death:  # which was told to all others
                call.said.put(("died", Died(self.death, by_this=False)))
        self._send(call.number, dumps((work, is_watched)))
        return call

    def _stop(self, call: "_Call", grace: float) -> None:
        """See a call to its end, which it may have come to; where it does not, end the process."""
        end = time.monotonic() + grace
        if not call.ended:
            self._send(call.number, None)
        while not call.ended and (left := end - time.monotonic()) > 0:
            call.hear(left)
        if not call.ended:
            self.end()
        with self._lock:
            del self._calls[call.number]

    def _send(self, *words: object) -> None:
        """Have something said there; nobody waits, for one that hangs does not listen either."""
        self._words.put(words)

    def _speak(self) -> None:
        with suppress(OSError):  # it died, which is told
            while words := self._words.get():
                self._pipe.send(words)

    def _live(
        self, theirs: Connection, modules: Sequence[str], started: "Future[subprocess.Popen[bytes]]"
    ) -> None:
        """Start it and listen to its end: the system ends it with the thread that started it."""
        try:
            with theirs:
                started.set_result(self._start(theirs.fileno(), modules))
        except OSError as error:
            words = f"no worker process can be started ({error}): close other programs"
            started.set_exception(ComputeError(words))
        else:
            self._listen()

    def _start(self, pipe: int, modules: Sequence[str]) -> "subprocess.Popen[bytes]":
        given = (pipe, self._crash.fileno())
        return subprocess.Popen(
            [sys.executable, "-c", _SERVE, *map(str, given), *modules],
            pass_fds=given,
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,
            process_group=0,  # Ctrl-C is for this process alone, whose end closes the pipe
            env={**os.environ, **self._told, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def _listen(self) -> None:
        """Pass on what is said, until it is known how the process ended."""
        try:
            while True:
                number, kind, value = self._pipe.recv()
                self._beats += number == ALIVE
                if call := self._calls.get(number):
                    call.said.put((kind, value))
                    call.thread = loads(value) if kind == "began" else call.thread  # nosec B301
        except (EOFError, OSError):  # reset, where it died before it had read all
            pass
        except Exception as error:  # whatever it is, nobody shall wait in vain
            _log.error("a worker cannot be heard", exc_info=error)
            self.end()
        status = self._process.wait()
        self._crash.seek(0)
        stack = self._crash.read().decode(errors="replace")
        with self._lock:
            self.death = death = Death(status, self._meant, self._short, stack)
            for call in self._calls.values():
                had_begun = call.thread is not None
                is_there = death.thread in (None, call.thread)
                by_this = had_begun and is_there and not death.meant
                call.said.put(("died", Died(death, by_this=by_this)))
        self._words.put(None)
        self._pipe.close()
        self._crash.close()


def _error(name: str, words: str, frames: str) -> Exception:
    """An error that was raised there: one of ours, or a stand-in of its name.

    Its own class may be torch's, which is not imported here.
    """
    known = getattr(errors, name, None)
    if isinstance(known, type) and issubclass(known, CouplingError):
        return known(words)
    error: Exception = type(name, (Exception,), {})(words)
    error.add_note(FRAMES + frames)
    return error
