"""How far one call is, where somebody watches: a bar in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Literal

from coupling_core.base import logs
from coupling_core.base.results import Progress

if TYPE_CHECKING:  # a stored answer has no progress to show
    from rich.progress import Progress as Bar

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
            that is a terminal or a notebook, and takes it away at the end.

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
    """A bar that begins with the first report: a stored answer shows none."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __call__(self, progress: Progress) -> None:
        """Show where a call stands."""
        if self._bar is None:
            self._bar = _new_bar()
        if progress.note and not self._bar.disable:
            self._bar.console.print(progress.note, markup=False, highlight=False, soft_wrap=True)
        self._bar.update(
            self._bar.task_ids[0],
            description=progress.stage,
            completed=progress.done,
            total=progress.total or None,
        )

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.progress import TimeRemainingColumn as Remaining

    console = Console(stderr=True)
    drawn = (console.is_terminal or console.is_jupyter) and not logs.are_json()
    columns = BarColumn(), MofNCompleteColumn(), Remaining(), TextColumn("{task.description}")
    bar = Bar(*columns, console=console, transient=True, disable=not drawn)
    bar.add_task("", total=None)
    bar.start()
    return bar
