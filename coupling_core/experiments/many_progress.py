"""How far measure_many is: a bar where somebody watches, and now and then a line elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coupling_core.base.pace import Pace


@contextmanager
def telling(total: int, *, shown: bool) -> Iterator[Callable[..., None]]:
    """Tell on stderr how far it is.

    Args:
        total: how many prompts there are, each with each model.
        shown: False tells nothing.

    Yields:
        what is called with what is being measured, and whether one more is done (1 by default).
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
            if done:
                pace.step()
            if shown and not drawn and (line := pace.line()):
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield advance
        bar.update(task, description="")
