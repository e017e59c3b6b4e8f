"""What may do harm, in a process whose seconds and memory the system bounds."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import psutil

MB = 2**20
_PATIENCE = 20


@dataclass(frozen=True)
class Ran:
    """What became of it."""

    status: int  # its exit status; negative for a signal
    said: str  # what it printed, with its complaints
    peak: int  # bytes of memory that it took at most, beside what it began with

    @property
    def last(self) -> str:
        """The last line that it said."""
        return next(reversed(self.said.strip().splitlines()), "")

    @property
    def is_plain(self) -> bool:
        """Whether it ended by itself, and without a traceback."""
        return self.status in (0, 1, 2) and "Traceback" not in self.said


def bounded(work: Callable[[], object], *, seconds: float = 200, memory: int = 1024 * MB) -> Ran:
    """Do something in a fork of this process: the exit status is 0, 70 where it raises, or its own.

    With more memory beside what it begins with it is ended, and with four times as many addresses
    nothing is given to it.
    """
    with tempfile.TemporaryFile() as said:
        end, before = time.monotonic() + seconds, psutil.Process().memory_info()
        child = os.fork()
        if not child:
            _be_child(work, said.fileno(), before.vms + 4 * memory)
        running = psutil.Process(child)
        while not (ended := os.wait4(child, os.WNOHANG))[0]:
            if time.monotonic() > end or running.memory_info().rss > before.rss + memory:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        said.seek(0)
        text = said.read(10**6).decode(errors="replace")
    peak = 1024 * ended[2].ru_maxrss - before.rss
    return Ran(os.waitstatus_to_exitcode(ended[1]), text, max(0, peak))


def spoilt(
    case: Callable[[int], object], numbers: Iterable[int], *, seconds: int = 10
) -> dict[int, str]:
    """Try a case with many numbers, and tell of which it did more than to refuse them in words."""
    found: dict[int, str] = {}
    with tempfile.NamedTemporaryFile("r+", buffering=1) as journal:
        todo = list(numbers)
        while todo:
            ran = bounded(lambda: _each(case, todo, journal, seconds), seconds=10**6)  # noqa: B023
            journal.seek(0)
            begun = 0
            for line in journal:
                number, _, said = line.rstrip("\n").partition(" ")
                begun += not said
                if said:
                    found[int(number)] = said
            if begun < len(todo) or ran.status:
                found[todo[begun - 1]] = f"ended by {ran.status}: {ran.last}"
            todo = todo[begun:]
            journal.seek(0)
            journal.truncate()
    return found


def _each(case: Callable[[int], object], numbers: list[int], journal: TextIO, seconds: int) -> None:
    from coupling_core.base.errors import CouplingError

    for number in numbers:
        print(number, file=journal, flush=True)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of computing: others compute here too
        signal.alarm(_PATIENCE * seconds)
        try:
            case(number)
        except CouplingError:
            pass
        except BaseException as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            words = str(error).replace("\n", " ")[:120].encode("ascii", "replace").decode()
            print(number, type(error).__name__, place, words, file=journal, flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def coupling(*line: object) -> Ran:
    """Run a command line of the program, as `bounded` does."""
    from coupling_core.cli import main

    def work() -> None:
        sys.argv = ["coupling", *map(str, line)]
        main()

    return bounded(work)


def _be_child(work: Callable[[], object], said: int, memory: int) -> None:
    status = 70
    try:
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdout = sys.stderr = open(2, "w", closefd=False)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "torch" in sys.modules:  # whose other threads, begun before, are in no fork
            sys.modules["torch"].set_num_threads(1)
        work()
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)
