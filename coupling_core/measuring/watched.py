"""How far one call is, where somebody watches: a bar in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

from coupling_core.base.bars import Bar
from coupling_core.base.results import Progress

Report = Callable[[Progress], None]
Watching = Report | Literal[False] | None
"""Who is told how far a call is: a function of somebody's own, nobody (False), or whoever watches
the terminal or the notebook (None)."""

_shown = Lock()
"""Held by the one bar that is there; a call inside of another one's, or beside it, shows none."""


@contextmanager
def watched(progress: Watching) -> Iterator[Report | None]:
    """Whom a call tells how far it is, with `progress` as the caller has it; None where nobody."""
    if progress is not None:
        yield None if progress is False else progress
    elif _shown.acquire(blocking=False):
        try:
            with Bar() as bar:
                yield bar
        finally:
            _shown.release()
    else:
        yield None
