"""How far many alike are, and how long the rest takes, told from how long they took until now."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coupling_core.base.bars import Bar
from coupling_core.base.units import duration

READ = 0.25
"""Seconds within which a stored answer is read: how long the rest takes is not told from those."""


class Pace:
    """How far a total of prompts is, or of what `of` says, and how long the rest takes.

    Where it `starts_slowly`, the first that is computed also waits for the workers, and does not
    count.
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
        self._last = clock()
        self._began: float | None = None

    def begin(self) -> None:
        """The first that is computed begins now, where none did; the model is there."""
        self._began = self._began or self._clock()

    def step(self, n: int = 1, *, computed: bool | None = None) -> None:
        """So many more are done, and took their time if `computed`.

        Where nobody knows (None), all do once one took longer than reading takes.
        """
        now = self._clock()
        if computed is None:
            computed = self._began is not None or now - self._last > READ
        if computed and self._starts_slowly:
            self._starts_slowly, self._began, computed = False, now, False
        elif computed:
            self._began = self._began or self._last
        self.computed += n * computed
        self._last, self.done = now, self.done + n

    def words(self, beside: int = 0) -> str:
        """The next and the time left, as far as it is known: "prompt 3 of 60, about 2 min".

        So many `beside` the next are at work too, halfway through on average.
        """
        where = f"{self._of} {self.done + (not beside)} of {self.total}"
        left = self.left(beside)
        return where if left is None else f"{where}, about {duration(left)}"

    def left(self, beside: int = 0) -> float | None:
        """Seconds that the rest takes; None where nothing was computed yet."""
        if self._began is None or not self.computed:
            return None
        each = (self._clock() - self._began) / (self.computed + beside / 2)
        return each * (self.total - self.done)


@contextmanager
def telling(
    total: int, bar: Bar, *, of: str = "prompt", starts_slowly: bool = False
) -> Iterator[Callable[..., None]]:
    """Tell by a bar how far many are; the rest is as of `Pace`.

    Yields:
        what is called with what is being measured, and how many more are done, 1 by default.
    """
    pace = Pace(total, of=of, starts_slowly=starts_slowly)

    def advance(what: str, done: int = 1) -> None:
        if done:
            pace.step(done)
        bar.show(pace.done, total, what, pace.words())

    with bar:
        try:
            yield advance
        except KeyboardInterrupt:
            stopped = f"stopped: {pace.done} of {total}, the same call goes on where results are"
            raise KeyboardInterrupt(f"{stopped} stored") from None
        advance("", done=0)
