"""How far one call is, where somebody watches: a bar in a terminal or a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

from coupling_core.base.bars import Bar, is_watched
from coupling_core.base.pace import APART
from coupling_core.base.results import Progress

Report = Callable[[Progress], None]
Watching = Report | Literal[False] | None
"""Who is told how far a call is: a function of somebody's own, nobody (False), or whoever watches
the terminal or the notebook (None)."""

_shown = Lock()
"""Held by the one bar that is there; a call inside of another one's, or beside it, shows none."""


@contextmanager
def watched(progress: Watching) -> Iterator[Report | None]:
    """Whom a call tells how far it is.

    Args:
        progress: as the caller has it. None draws a bar on stderr from the first report on, where
            that is a terminal or a notebook, and takes it away at the end; elsewhere it writes a
            line there now and then.

    Yields:
        what is told; None where nobody is.
    """
    if progress is not None:
        yield None if progress is False else progress
        return
    if not _shown.acquire(blocking=False):
        yield None
        return
    shown = _Shown()
    try:
        yield shown
    finally:
        shown.end()
        _shown.release()


class _Shown:
    """A bar, or lines, that begin with the first report: a stored answer shows none."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._begun = False
        self._told = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Show where a call stands."""
        if not self._begun:
            self._bar, self._begun = Bar() if is_watched() else None, True
        if self._bar is None:
            self._write(progress)
            return
        if progress.note:
            self._bar.say(progress.note)
        self._bar.show(progress.done, progress.total, progress.stage)

    def _write(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._told >= APART and progress.total:
            self._told = now
            sys.stderr.write(f"{progress.stage}: {progress.done} of {progress.total}\n")

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.end()
