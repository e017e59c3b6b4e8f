"""How far something is, on stderr: a bar in a terminal or a notebook, elsewhere a line at times."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from coupling_core.base import logs
from coupling_core.base.results.progress import Progress

if TYPE_CHECKING:  # who has a stored answer sees no bar
    from tqdm import tqdm

APART = 10.0
"""Seconds between two lines, where no bar shows how far it is."""
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
