"""A bar of how far something is, in a terminal or a notebook."""

import sys
import time
from typing import TYPE_CHECKING

from coupling_core.base import logs

if TYPE_CHECKING:  # who has a stored answer sees no bar
    from tqdm import tqdm

_OFTEN = 0.1
"""Seconds between two pictures of a bar."""
_FORM = "{bar:32} {n_fmt}/{total_fmt} {remaining} {desc}"
_UNKNOWN = "{elapsed} {desc}"
"""Where nobody knows how much there is."""


def is_watched() -> bool:
    """Whether somebody sees on stderr what is drawn there."""
    from rich.console import Console

    console = Console(stderr=True)
    return (console.is_terminal or console.is_jupyter) and not logs.are_json()


class Bar:
    """A bar on stderr, in plain text, which a notebook shows without any widgets."""

    def __init__(self, *, stays: bool = False) -> None:
        self._stays, self._drawn_at = stays, 0.0
        self._bar: tqdm[None] | None = None

    def show(self, done: int, total: int, what: str) -> None:
        """Draw `done` of `total`; a total of 0 is not known."""
        if self._bar is None:
            self._bar = self._new()
        bar = self._bar
        now = time.monotonic()
        is_news = (bar.total or 0, bar.desc) != (total, what)
        if bar.total != (total or None):
            bar.reset(total or None)
            bar.bar_format = _FORM if total else _UNKNOWN
        bar.n, bar.desc = done, what
        if is_news or done == total or now - self._drawn_at > _OFTEN:
            bar.refresh()
            self._drawn_at = now

    def say(self, line: str) -> None:
        """Leave a line above it."""
        from tqdm import tqdm

        tqdm.write(line, file=sys.stderr)

    def end(self) -> None:
        """Take it away, or leave it as it is."""
        if self._bar is not None:
            self._bar.close()

    def _new(self) -> "tqdm[None]":
        from tqdm import tqdm

        return tqdm(file=sys.stderr, leave=self._stays, bar_format=_UNKNOWN, dynamic_ncols=True)
