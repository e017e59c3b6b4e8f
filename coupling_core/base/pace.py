"""How long the rest of many alike takes, told from how long they took until now."""

import time
from collections.abc import Callable

from coupling_core.base.units import about

APART = 10.0
"""Seconds between two lines of progress, where no bar shows it."""

READ = 0.25
"""Seconds within which a stored answer is read: how long the rest takes is not told from those."""


class Pace:
    """How far many prompts are, and how long the rest takes.

    Args:
        total: how many there are.
        done: of them, before it begins.
        clock: seconds, of any beginning.
        of: what they are called.
        starts_slowly: whether the first that is computed also waits for the workers, so that it
            does not count.
    """

    def __init__(
        self,
        total: int,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
        of: str = "prompt",
        *,
        starts_slowly: bool = False,
    ) -> None:
        self.total, self.done, self.computed = total, done, 0
        self._clock, self._of = clock, of
        self._starts_slowly = starts_slowly
        self._last = self._told = clock()
        self._began: float | None = None

    def begin(self) -> None:
        """The first that is computed begins now, where none did; the model is there."""
        self._began = self._began or self._clock()

    def step(self, *, computed: bool | None = None) -> None:
        """One more is done.

        Args:
            computed: whether it took its time; None where nobody knows: once one took longer than
                reading takes, all do.
        """
        now = self._clock()
        if computed is None:
            computed = self._began is not None or now - self._last > READ
        if computed and self._starts_slowly:
            self._starts_slowly, self._began, computed = False, now, False
        elif computed:
            self._began = self._began or self._last
        self.computed += computed
        self._last, self.done = now, self.done + 1

    def words(self, beside: int = 0) -> str:
        """The next and the time left, as far as it is known: "prompt 3 of 60, about 2 minutes".

        Args:
            beside: how many others are at work besides the next, halfway through on average.
        """
        where = f"{self._of} {self.done + (not beside)} of {self.total}"
        left = self.left(beside)
        return where if left is None else f"{where}, {about(left)}"

    def left(self, beside: int = 0) -> float | None:
        """Seconds that the rest takes; None where nothing was computed yet."""
        if self._began is None or not self.computed:
            return None
        each = (self._clock() - self._began) / (self.computed + beside / 2)
        return each * (self.total - self.done)

    def line(self, beside: int = 0) -> str:
        """The same where it is time to tell it, and "" where it was told or nothing is known."""
        now = self._clock()
        if not self.computed or self.done >= self.total or now - self._told < APART:
            return ""
        self._told = now
        return self.words(beside)
