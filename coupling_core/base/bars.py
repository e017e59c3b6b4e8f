"""How far something is, on stderr, and how long the rest takes.

A terminal or a notebook has a bar, and elsewhere a line comes at times.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from coupling_core.base import logs
from coupling_core.base.results.progress import Progress
from coupling_core.base.units import duration

if TYPE_CHECKING:  # who has a stored answer sees no bar
    from tqdm import tqdm

APART = 10.0
"""Seconds between two lines, where no bar shows how far it is."""
READ = 0.25
"""Seconds within which a stored answer is read: how long the rest takes is not told from those."""
_FORM = "{bar:32} {n_fmt}/{total_fmt} {remaining} {desc}"
_UNKNOWN = "{elapsed} {desc}"
"""Where nobody knows how much there is."""


def is_watched() -> bool:
    """Whether somebody sees on stderr what is drawn there."""
    from rich.console import Console

    console = Console(stderr=True)
    return (console.is_terminal or console.is_jupyter) and not logs.are_json()


class Bar:
    """A bar in plain text, which a notebook shows without any widgets; it ends with its `with`.

    It begins with the first report: a stored answer shows none. Lines and notes go to `say`; where
    that is None, lines go to stderr, and notes are put above a bar alone.
    """

    def __init__(
        self,
        title: str = "",
        *,
        stays: bool = False,
        shown: bool = True,
        say: Callable[[str], object] | None = None,
    ) -> None:
        self.title, self.used = title, False
        self._stays, self._shown, self._say = stays, shown, say
        self._bar: tqdm[None] | None = None
        self._told = time.monotonic()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, progress: Progress) -> None:
        """Show where a measurement stands."""
        what, unit = f"{self.title} {progress.stage}".strip(), 1
        if progress.stage == "downloading":
            what, unit = f"{what}, MB", 10**6
        self.show(progress.done // unit, progress.total // unit, what)
        if progress.note:
            self.note(progress.note)

    def show(self, done: int, total: int, what: str, line: str = "") -> None:
        """Show where anything stands, by the line where no bar is; a total of 0 is not known."""
        if not self.used and self._shown and is_watched():
            self._bar = self._new()
        self.used = True
        if self._bar is not None:
            self._draw(self._bar, done, total, what)
        elif self._shown and done < total and time.monotonic() - self._told >= APART:
            self._told = time.monotonic()
            (self._say or _write)(line or f"{what}: {done} of {total}")

    def note(self, line: str) -> None:
        """Leave a line above it."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        elif self._say is not None:
            self._say(line)

    def _new(self) -> "tqdm[None]":
        from tqdm import tqdm

        return tqdm(file=sys.stderr, leave=self._stays, bar_format=_UNKNOWN, dynamic_ncols=True)

    @staticmethod
    def _draw(bar: "tqdm[None]", done: int, total: int, what: str) -> None:
        is_news = (bar.total or 0, bar.desc) != (total, what)
        if bar.total != (total or None):
            bar.reset(total or None)
            bar.bar_format = _FORM if total else _UNKNOWN
        bar.desc = what
        bar.update(done - bar.n)
        if is_news or done == total:
            bar.refresh()


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")


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

    What it gives is called with what is being measured, and how many more are done, 1 by default.
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
