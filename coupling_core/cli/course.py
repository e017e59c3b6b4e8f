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
        self._began: float | None = None
        self._told = time.monotonic()
        self._bar = ProgressBar(blocks, f"prompt {done + 1} of {total}")

    def __enter__(self) -> "Course":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def report(self, progress: Progress, processes: int) -> None:
        """Show where a measurement stands; of those in several processes, only how they begin.

        Raises:
            InputError: where the model lacks the blocks.
        """
        if self._began is None and progress.stage not in ("downloading", "loading"):
            self._began = time.monotonic()
        if processes == 1 or progress.note or not self._computed:
            self._bar(progress)
        elif progress.stage == "blocks" and progress.total:
            parse_blocks(self._blocks, progress.total)

    def end(self, processes: int, *, computed: bool) -> None:
        """One more is done; one after the other, the next is told, and else how many are done."""
        self._done += 1
        self._computed += computed
        where = f"prompt {self._done + (processes == 1)} of {self._total}"
        if self._began is not None and self._computed:
            # Those that are at work now are halfway through, on average.
            each = (time.monotonic() - self._began) / (self._computed + (processes - 1) / 2)
            where += f", {about(each * (self._total - self._done))}"
        self._bar.title = where
        if processes > 1:
            self._bar.count(self._done, self._total)
        if self._computed and self._done < self._total and time.monotonic() - self._told > APART:
            self._told = time.monotonic()
            ProgressBar.tell(where)
