"""Pages are drawn a few at a time, in the order in which they are asked for.

Each is drawn in a thread of its own, and Python runs one of them at a time. A crowd's threads, all
at once, would take turns by the millisecond: each page would take as long as all of them, and the
changes of turn more than the pages. So the others wait.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 2
"""Pages: while one reads a file, the other goes on."""


class Turns:
    """Places for threads that draw; safe to call from any of them.

    Args:
        places: how many.
    """

    def __init__(self, places: int = AT_ONCE) -> None:
        self._free = places
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()
        self._own = threading.local()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw, once it is this thread's turn."""
        with self._lock:
            turn = threading.Event()
            self._waiting.append(turn)
            self._call()
        turn.wait()
        self._own.draws = True
        try:
            yield
        finally:
            self._own.draws = False
            self._leave()

    @contextmanager
    def stepping_aside(self) -> Iterator[None]:
        """Let others draw while this thread waits for something.

        It goes on at once when that is there, though all places may be taken by then: whoever has
        one may wait for something that only this thread can give.
        """
        if not getattr(self._own, "draws", False):
            yield
            return
        self._leave()
        try:
            yield
        finally:
            with self._lock:
                self._free -= 1

    def _leave(self) -> None:
        with self._lock:
            self._free += 1
            self._call()

    def _call(self) -> None:
        """Call those whose turn it is."""
        while self._waiting and self._free > 0:
            self._free -= 1
            self._waiting.popleft().set()


turns = Turns()
"""Those of this process."""
