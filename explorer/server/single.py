"""What there is one of in a process, whoever asks first, and whatever a client does.

Streamlit's caches are no place for it: any websocket may have them emptied.
"""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Single(Generic[T]):
    """A function that is called once, also where several threads ask at the same time.

    Args:
        make: the function.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._lock = Lock()

    def __call__(self) -> T:
        """What it gave."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def forget(self) -> None:
        """Have it called anew: for tests, each of which has a store of its own."""
        with self._lock:
            self._made.clear()
