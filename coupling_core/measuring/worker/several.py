"""Several workers that measure side by side, one request each, on one core each.

Whole measurements in processes of their own take each core as fully as one alone does, where
threads wait for Python and for one another. How many there are is no part of a result: each has
libraries with one thread, and the numbers are those of one such process, to the bit.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from coupling_core.base.errors import Cancelled, ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import BEGINNING, Progress, Result
from coupling_core.measuring.worker.asking import ENGINE, Ended, Worker
from coupling_core.measuring.worker.process import LOOK

GRACE = 0.3
"""Seconds that a step has to end in once all is stopped: with the half second after which that is
heard, whoever stopped it waits for less than one."""

TRIES = 2
"""How often a request is given to a process, where one before it was ended from outside."""


@dataclass(frozen=True)
class Measured:
    """What came of a request.

    Args:
        number: of the request.
        result: that was measured; None where it failed.
        error: why it failed; None where it did not.
    """

    number: int
    result: Result | None = None
    error: Exception | None = None


class Several:
    """Workers, as long as a `with` block lasts; at its end, whatever they are at is stopped.

    Args:
        count: how many; their processes begin to import at once.
        modules: that each process imports first.
    """

    def __init__(self, count: int, modules: Sequence[str] = ENGINE) -> None:
        self._workers = [Worker(modules, GRACE, library_threads=1) for _ in range(count)]
        self._threads: list[threading.Thread] = []
        self._left: deque[int] = deque()
        self._tries: dict[int, int] = {}
        self._ended: SimpleQueue[Measured] = SimpleQueue()
        self._stop, self._loaded = threading.Event(), threading.Event()
        self._counting = threading.Lock()
        self.measured = 0  # and stored, whether they were handed out or not

    def __enter__(self) -> "Several":
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._loaded.set()
        for thread in self._threads:
            thread.join()
        self.keep(0)

    @property
    def pids(self) -> list[int]:
        """Of the processes that live."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def ask(self, work: Callable[[], Any]) -> Any:
        """What a function of a module gives that runs in one of the processes."""
        return self._workers[0].call(work)

    def keep(self, count: int) -> None:
        """End all processes but so many."""
        for worker in self._workers[count:]:
            worker.close()
        del self._workers[count:]

    def measure(
        self,
        requests: Mapping[int, Request],
        by: Callable[[Worker, Request, Callable[[Progress], None]], Result],
        report: Callable[[int, Progress], None],
        *,
        first_alone: bool = False,
    ) -> Iterator[Measured]:
        """Measure requests in any order.

        Args:
            requests: by their numbers.
            by: measures one with a worker, and tells how far it is.
            report: is told of each request, by its number and in any thread; an error that it
                raises is what comes of that request.
            first_alone: whether the others wait until one has loaded the model, since that has to
                be fetched or converted first.

        Yields:
            what came of each, as soon as it is there.

        Raises:
            Exception: that was not foreseen, of whichever request.
        """
        self._left.extend(requests)
        if not first_alone:
            self._loaded.set()
        for number, worker in enumerate(self._workers):
            told = (worker, number == 0, requests, by, report)
            self._threads.append(threading.Thread(target=self._work, args=told, daemon=True))
            self._threads[-1].start()
        for _ in requests:
            found = self._next()
            if found.error and not isinstance(found.error, InputError | ComputeError):
                raise found.error
            yield found

    def _work(
        self,
        worker: Worker,
        is_first: bool,
        requests: Mapping[int, Request],
        by: Callable[..., Result],
        report: Callable[[int, Progress], None],
    ) -> None:
        """Have a worker measure one request after another, until none is left."""
        if not is_first:
            self._loaded.wait()
        while not self._stop.is_set() and (number := self._take()) is not None:

            def told(progress: Progress, number: int = number) -> None:
                # What is being saved is finished: to throw it away would spare nothing.
                if self._stop.is_set() and progress.stage != "saving":
                    raise Cancelled("nobody waits for this measurement any more")
                if progress.stage not in BEGINNING:
                    self._loaded.set()
                report(number, progress)

            try:
                self._end(Measured(number, by(worker, requests[number], told)))
            except Ended as error:
                if self._tries[number] < TRIES:
                    self._left.append(number)  # after all others
                else:
                    self._end(Measured(number, error=error))
            except Exception as error:
                self._end(Measured(number, error=error))
            self._loaded.set()

    def _next(self) -> Measured:
        while True:
            with suppress(Empty):  # now and then, so that Ctrl-C is heard wherever it arrives
                return self._ended.get(timeout=LOOK)

    def _take(self) -> int | None:
        try:
            number = self._left.popleft()
        except IndexError:
            return None
        self._tries[number] = self._tries.get(number, 0) + 1
        return number

    def _end(self, measured: Measured) -> None:
        with self._counting:
            self.measured += measured.result is not None
        self._ended.put(measured)
