"""How far measure_many is: a bar where somebody watches, and now and then a line elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coupling_core.base.units import about

APART = 10.0
"""Seconds between two lines, where no bar is drawn."""
READ = 0.25
"""Seconds within which a stored answer is read: how long the rest takes is not told from those."""


class Pace:
    """How long the rest takes, told from how long it took until now.

    Args:
        total: how many prompts there are, each with each model.
        clock: seconds, of any beginning.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.done, self._clock = total, 0, clock
        self._before = self._told = clock()
        self._began: tuple[float, int] | None = None

    def step(self, done: int) -> None:
        """So many more are done."""
        now = self._clock()
        if self._began is None and done and now - self._before > READ:
            self._began = self._before, self.done  # the first that was computed
        self._before, self.done = now, self.done + done

    def line(self) -> str:
        """What is to be told now: "prompt 3 of 60, about 2 minutes", or "" for nothing yet."""
        now = self._clock()
        if self._began is None or self.done >= self.total or now - self._told < APART:
            return ""
        self._told = now
        began, before = self._began
        left = (now - began) / (self.done - before) * (self.total - self.done)
        return f"prompt {self.done + 1} of {self.total}, {about(left)}"


@contextmanager
def telling(total: int, *, shown: bool) -> Iterator[Callable[..., None]]:
    """Tell on stderr how far it is.

    Args:
        total: how many prompts there are, each with each model.
        shown: False tells nothing.

    Yields:
        what is called with what is being measured, and how many more are done (1 by default).
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    console, pace = Console(stderr=True), Pace(total)
    drawn = shown and (console.is_terminal or console.is_jupyter)
    columns = BarColumn(), MofNCompleteColumn(), Remaining(), TextColumn("{task.description}")
    with Progress(*columns, console=console, disable=not drawn) as bar:
        task = bar.add_task("", total=total)

        def advance(what: str, done: int = 1) -> None:
            bar.update(task, advance=done, description=what.replace("[", r"\["))
            pace.step(done)
            if shown and not drawn and (line := pace.line()):
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield advance
        bar.update(task, description="")
