"""Pages are drawn a few at a time, in the order in which they are asked for.

Each is drawn in a thread of its own, and Python runs one of them at a time. A crowd's threads, all
at once, would take turns by the millisecond: each page would take as long as all of them, and the
changes of turn more than the pages. So the others wait.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 2
"""Pages: while one reads a file, the other goes on."""

LONGEST = 10.0
"""Seconds for which a page keeps its place: one that hangs shall not keep it for good."""

LOOK = 1.0
"""Seconds after which whoever waits looks whether a place was kept for longer."""


class Turns:
    """Places for threads that draw; safe to call from any of them.

    Args:
        places: how many.
    """

    def __init__(self, places: int = AT_ONCE) -> None:
        self._free = places
        self._waiting: deque[threading.Event] = deque()
        self._since: dict[int, float] = {}  # when each thread that has a place took it
        self._lock = threading.Lock()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw, once it is this thread's turn."""
        with self._lock:
            turn = threading.Event()
            self._waiting.append(turn)
            self._call()
        while not turn.wait(LOOK):
            self._take_back()
        self._since[threading.get_ident()] = time.monotonic()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def stepping_aside(self) -> Iterator[None]:
        """Let others draw while this thread waits for something.

        It goes on at once when that is there, though all places may be taken by then: whoever has
        one may wait for something that only this thread can give.
        """
        if not self._leave():
            yield
            return
        try:
            yield
        finally:
            with self._lock:
                self._free -= 1
                self._since[threading.get_ident()] = time.monotonic()

    def _leave(self) -> bool:
        """Give this thread's place to another; whether it had one."""
        with self._lock:
            had_one = self._since.pop(threading.get_ident(), None) is not None
            self._free += had_one
            self._call()
        return had_one

    def _take_back(self) -> None:
        """Give those places to others that were kept for too long."""
        with self._lock:
            last = time.monotonic() - LONGEST
            for thread in [who for who, since in self._since.items() if since < last]:
                del self._since[thread]
                self._free += 1
            self._call()

    def _call(self) -> None:
        """Call those whose turn it is."""
        while self._waiting and self._free > 0:
            self._free -= 1
            self._waiting.popleft().set()


turns = Turns()
"""Those of this process."""
