"""How far many prompts are, while they are measured one after the other or side by side."""

import time
from typing import Any

from coupling_core.base.records import parse_blocks
from coupling_core.base.results import Progress
from coupling_core.base.units import about
from coupling_core.cli.terminal import ProgressBar

APART = 10.0
"""Seconds between two lines of progress, where no bar shows it."""


class Course:
    """How far many prompts are: a bar, or a line now and then where none shows.

    Args:
        total: how many there are.
        done: of them, before it begins.
        blocks: the blocks shown, as they were typed.
    """

    def __init__(self, total: int, done: int, blocks: str | None) -> None:
        self._total, self._done, self._computed, self._blocks = total, done, 0, blocks
        self._began = self._told = time.monotonic()
        self._bar = ProgressBar(blocks, self._where(done + 1))

    def __enter__(self) -> "Course":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def report(self, progress: Progress, *, side_by_side: bool) -> None:
        """Show where a measurement stands; of those side by side, only how they begin.

        Raises:
            InputError: where the model lacks the blocks.
        """
        if not side_by_side or progress.note or not self._computed:
            self._bar(progress)
        elif progress.stage == "blocks" and progress.total:
            parse_blocks(self._blocks, progress.total)

    def end(self, *, computed: bool, side_by_side: bool) -> None:
        """One more is done: side by side those are told, else which one is next."""
        self._done += 1
        self._computed += computed
        self._bar.title = where = self._where(self._done + (not side_by_side))
        if side_by_side:
            self._bar.count(self._done, self._total)
        if self._computed and self._done < self._total and time.monotonic() - self._told > APART:
            self._told = time.monotonic()
            ProgressBar.tell(where)

    def _where(self, number: int) -> str:
        where = f"prompt {number} of {self._total}"
        if not self._computed:
            return where
        each = (time.monotonic() - self._began) / self._computed
        return f"{where}, {about(each * (self._total - self._done))}"
