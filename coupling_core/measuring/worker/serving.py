"""The other end of `process`: runs what it is asked to, and tells how far it is.

Its arguments are the descriptor of one end of a `multiprocessing.Pipe`, that of a file for the
stack of a process that dies, and modules that are imported before anything is run. Each call is a
thread. The process ends when the pipe is closed, as it is when the process at its other end ends,
in whatever way.
"""

import ctypes
import faulthandler
import logging
import os
import pickle  # nosec B403  # between the two ends of a pipe of our own
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from coupling_core.base import logs
from coupling_core.base.allocator import few_lists, give_back, keep_freed
from coupling_core.base.errors import Cancelled, ComputeError, CouplingError, InputError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.results import Progress
from coupling_core.measuring import startup
from coupling_core.measuring.measure import REMEDY
from coupling_core.measuring.worker import ceiling

NO_MEMORY = 71
"""Exit status of a process that has no memory left to say so."""

NICE = 5
"""How much what measures gives way to the pages: it has a quarter of a core that both want."""

BEAT = 1.0
"""Seconds between two signs of life, once all is imported."""

ALIVE = -1
"""In place of a call's number: a sign of life."""

WORDS = 0.1
"""Seconds between two words on the same stage at least: small models' steps come by the hundred."""

PARTIAL = 0.5
"""Seconds between two results so far, which are megabytes."""

SHARE = 20
"""How many times as long as it takes to tell a result is measured until the next one is told."""

_PDEATHSIG = 1
"""PR_SET_PDEATHSIG of Linux."""

_log = logging.getLogger(__name__)


serves = False
"""Whether this process is such a one."""


def main() -> None:
    """Serve one pipe to its end."""
    global serves
    serves = True
    _end_with_parent()
    faulthandler.enable(int(sys.argv[2]))
    with suppress(InputError):  # the app itself tells of settings that cannot be used
        logs.set_up()
    _go_first()
    keep_freed()
    few_lists()
    ceiling.begin_threads_outside()
    _Server(Connection(int(sys.argv[1])), sys.argv[3:]).serve()


def _end_with_parent() -> None:
    """Have Linux end this process too where it is inside code that lets no thread see the pipe."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _go_first() -> None:
    """Have Linux end this process, and not the app, where memory runs out all the same."""
    with suppress(OSError):  # no Linux
        Path("/proc/self/oom_score_adj").write_text("500")


def give_way() -> None:
    """Let this thread, and those that it starts, compute where the pages leave room.

    To no effect where the threads of a process share one priority. Those that answer the pages'
    questions keep theirs.
    """
    with suppress(OSError):
        thread = os.PRIO_PROCESS, threading.get_native_id()
        os.setpriority(*thread, max(NICE, os.getpriority(*thread)))


class _Server:
    """Takes calls from a pipe, and sends what comes of them."""

    def __init__(self, connection: Connection, modules: Sequence[str]) -> None:
        self._connection, self._modules = connection, modules
        self._sending = threading.Lock()
        self._stops: dict[int, threading.Event] = {}
        self._imported = threading.Event()

    def serve(self) -> None:
        """Start a thread for each call, until nobody is left to ask."""
        threading.Thread(target=self._live, daemon=True).start()
        try:
            while True:
                self._take(*self._connection.recv())
        except (EOFError, OSError):
            os._exit(0)  # without waiting for threads that are inside torch
        except (MemoryError, RuntimeError):  # no room to hear a call, or for another thread
            os._exit(NO_MEMORY)

    def send(self, number: int, kind: str, value: Any) -> None:
        """Tell something of a call."""
        told = number, kind, pickle.dumps(value)
        with self._sending, suppress(OSError):  # nobody is left: `serve` ends the process
            self._connection.send(told)

    def _take(self, number: int, call: bytes | None) -> None:
        if call is not None:
            self._stops[number] = threading.Event()
            threading.Thread(target=self._run, args=(number, call), daemon=True).start()
        elif stop := self._stops.get(number):  # else it has come to its end
            stop.set()

    def _import(self) -> None:
        """Once and in one thread: of two that import a package at once, one may see half of it."""
        give_way()
        try:
            with startup.importing():
                for module in self._modules:
                    import_module(module)
        except Exception as error:  # whatever needs it says so again
            _log.error("%s cannot be imported", module, exc_info=error)
        with suppress(InputError):  # the same settings
            ceiling.renew()

    def _live(self) -> None:
        """Import, then show that threads run here: one that hangs may hold up all others."""
        self._import()
        while True:
            with suppress(MemoryError):  # the next one may find room
                self.send(ALIVE, "alive", None)
            self._imported.set()
            time.sleep(BEAT)

    def _run(self, number: int, call: bytes) -> None:
        try:
            self._try(number, call)
        except BaseException:  # what is left undone here, somebody would wait for in vain
            os._exit(NO_MEMORY)

    def _try(self, number: int, call: bytes) -> None:
        self.send(number, "began", threading.get_ident())
        self._imported.wait()
        try:
            work, is_watched = pickle.loads(call)  # nosec B301  # the same
            if is_watched:
                give_way()
            teller = _Teller(self, number, self._stops[number])
            self.send(number, "done", work(progress=teller) if is_watched else work())
        except BaseException as error:  # whatever it is, whoever asked is told
            with ceiling.lifted():
                self.send(number, "failed", _in_plain_types(error))
        finally:
            del self._stops[number]
            if not self._stops:  # nobody else computes
                give_back()


class _Teller:
    """Passes on how far a call is, sparingly, and stops it once that is asked for."""

    def __init__(self, server: _Server, number: int, stop: threading.Event) -> None:
        self._server, self._number, self._stop = server, number, stop
        self._stage = ""
        self._words, self._partial = 0.0, 0.0  # when the next ones are due

    def __call__(self, progress: Progress) -> None:
        # What is being saved is finished: to throw it away would spare nothing.
        if self._stop.is_set() and progress.stage != "saving":
            raise Cancelled("nobody waits for this measurement any more")
        now, is_new = time.monotonic(), progress.stage != self._stage
        if not (is_new or progress.note or now >= self._words):
            return
        self._stage, self._words = progress.stage, now + WORDS
        if progress.partial and not (is_new or now >= self._partial):
            progress = replace(progress, partial=None)
        self._server.send(self._number, "progress", progress)
        if progress.partial:
            then = time.monotonic()
            self._partial = then + max(PARTIAL, SHARE * (then - now))


def _in_plain_types(error: BaseException) -> tuple[str, str, str]:
    """An error as its class's name, its words and where it was raised, for who lacks the class."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    if not isinstance(error, CouplingError) and is_out_of_memory(error):
        return ComputeError.__name__, f"memory ran out: {REMEDY}", frames
    known = next((c for c in type(error).__mro__ if c.__module__ == CouplingError.__module__), None)
    name = (known or type(error)).__name__
    try:
        words = str(error)
    except BaseException:
        words = "it does not say why"
    return name, words, frames
