"""What the commands share at the terminal: progress bars, tables, JSON."""

import logging
import math
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from coupling_core.base import logs
from coupling_core.base.records import parse_blocks
from coupling_core.base.results import Progress
from coupling_core.base.units import size

if TYPE_CHECKING:  # a stored answer has no progress to show
    from rich.progress import Progress as Bar


_log = logging.getLogger(__name__)


class _Ways:
    """What of a command's words goes out; `main` begins with all of it."""

    def __init__(self) -> None:
        self.notes, self.report = True, True


_ways = _Ways()


def begin() -> None:
    """Say everything from now on."""
    _ways.notes = _ways.report = True
    logging.getLogger("coupling_core").setLevel(logging.NOTSET)


def hush() -> None:
    """From now on say nothing on stderr but what went wrong: no progress, and no warnings."""
    _ways.notes = False
    logging.getLogger("coupling_core").setLevel(logging.ERROR)


def leave_stdout() -> None:
    """From now on print no report: standard output is for a file."""
    _ways.report = False


class ProgressBar:
    """A bar on stderr that begins with the first report: a stored answer shows none.

    Args:
        blocks: the blocks asked for: refused as soon as the model turns out not to have them.
        title: what the bar is of.
    """

    def __init__(self, blocks: str | None = None, title: str = "") -> None:
        self.blocks = blocks
        self.title = title
        self._bar: Bar | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def used(self) -> bool:
        """Whether anything was computed."""
        return self._bar is not None

    @staticmethod
    def tell(line: str) -> None:
        """Say how far it is in a line, where no bar shows it."""
        if not sys.stderr.isatty() or logs.are_json():
            say(line)

    def __call__(self, progress: Progress) -> None:
        """Show where a measurement stands.

        Raises:
            InputError: where the model lacks the blocks.
        """
        if self._bar is None:
            self._bar = _new_bar()
        downloading = progress.stage == "downloading"
        if progress.stage == "blocks" and progress.total:
            parse_blocks(self.blocks, progress.total)
        if progress.note and logs.are_json():
            say(progress.note)
        elif progress.note and _ways.notes:
            self._bar.console.print(progress.note, markup=False, highlight=False, soft_wrap=True)
        counts = (progress.done, progress.total)
        self._bar.update(
            self._bar.task_ids[0],
            description=f"{self.title} {progress.stage}".strip(),
            completed=progress.done,
            total=progress.total or None,
            count=" of ".join(map(size, counts)) if downloading else _count(*counts),
        )

    def count(self, done: int, total: int) -> None:
        """Show how many of several things are done."""
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0],
                description=self.title,
                completed=done,
                total=total,
                count=_count(done, total),
            )


def _new_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    shown = console.is_terminal and not logs.are_json() and _ways.notes
    bar = Bar(*columns, console=console, transient=True, disable=not shown)
    bar.add_task("", total=None, count="")
    bar.start()
    return bar


class CountingBar:
    """How far something is whose end is known, on stderr; in lines where nobody watches.

    Args:
        total: how much there is to do.
        description: what is told until anything is done.
    """

    def __init__(self, total: int, description: str = "") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        console = Console(stderr=True)
        shown = console.is_terminal and not logs.are_json() and _ways.notes
        self._bar = Bar(*columns, console=console, disable=not shown)
        self._bar.add_task(description, total=total)
        self._total = max(1, total)
        self._tenths = 0

    def __enter__(self) -> "CountingBar":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def of(self, total: int, done: int, description: str, line: str) -> None:
        """Show where it stands, once it is known how much there is to do."""
        self._total = max(1, total)
        self._bar.update(self._bar.task_ids[0], total=total)
        self(done, description, line)

    def __call__(self, done: int, description: str, line: str) -> None:
        """Show where it stands.

        Args:
            done: how much is.
            description: what is told beside the bar.
            line: what is said instead, at every tenth of the whole.
        """
        self._bar.update(self._bar.task_ids[0], completed=done, description=description)
        tenths = 10 * done // self._total
        if self._bar.disable and tenths > self._tenths:
            self._tenths = tenths
            say(line)


def _count(done: int, total: int) -> str:
    return f"{done}/{total or '?'}"


def print_json(payload: Any) -> None:
    """Print JSON on stdout; NaN, which JSON lacks, becomes null."""
    if _ways.report:
        typer.echo(logs.to_json(_plain(payload), sys.stdout.encoding, allow_nan=False))


def print_lines(*lines: str) -> None:
    """Print on stdout."""
    if _ways.report:
        typer.echo("\n".join(lines))


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: bool = False) -> None:
    """Print columns on stdout: as wide as they need to be where nobody's terminal limits them.

    Args:
        titles: of the columns.
        rows: their texts.
        right: set the texts to the right, as numbers are.
    """
    if not _ways.report:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        table.add_column(title, justify="right" if right else "left")
    for row in rows:
        table.add_row(*row)
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def say(message: str, level: int = logging.INFO) -> None:
    """One line on stderr, which says how bad it is; a line of the log where that is JSON."""
    if level < logging.ERROR and not _ways.notes:
        return
    line = " ".join(message.split())
    if logs.are_json():
        _log.log(level, line)
    else:
        how = f"{logging.getLevelName(level).lower()}: " if level > logging.INFO else ""
        typer.echo(f"{how}{line}", err=True)


def warn(message: str) -> None:
    """A warning on stderr."""
    say(message, logging.WARNING)


def complain(message: str) -> None:
    """What went wrong with a part of what was asked, on stderr, however quiet the command is."""
    say(message, logging.ERROR)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
