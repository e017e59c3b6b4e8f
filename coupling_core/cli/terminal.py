"""What the commands share at the terminal: progress, tables, JSON."""

import logging
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from coupling_core.base import logs
from coupling_core.base.bars import Bar, is_watched
from coupling_core.base.records import parse_blocks
from coupling_core.base.results import Progress

Told = tuple[Any, Callable[[], None]]
"""What is reported: for JSON, and what prints it for people."""

_log = logging.getLogger(__name__)


@dataclass
class _Wanted:
    """What of a command's words goes out."""

    notes: bool = True
    report: bool = True


_wanted = _Wanted()


def begin() -> None:
    """Say everything from now on."""
    _wanted.notes = _wanted.report = True
    logging.getLogger("coupling_core").setLevel(logging.NOTSET)


def hush() -> None:
    """From now on say nothing on stderr but what went wrong: no progress, and no warnings."""
    _wanted.notes = False
    logging.getLogger("coupling_core").setLevel(logging.ERROR)


def leave_stdout() -> None:
    """From now on print no report: standard output is for a file."""
    _wanted.report = False


class ProgressBar:
    """How far something is: a bar on stderr, or lines where nobody watches it.

    It begins with the first report: a stored answer shows none. The blocks that were asked for are
    refused as soon as the model turns out not to have them.
    """

    def __init__(self, blocks: str | None = None, title: str = "", *, stays: bool = False) -> None:
        self.blocks, self.title, self.used = blocks, title, False
        self._stays, self._tenths = stays, 0
        self._bar: Bar | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.end()

    def __call__(self, progress: Progress) -> None:
        """Show where a measurement stands."""
        if progress.stage == "blocks" and progress.total:
            parse_blocks(self.blocks, progress.total)
        what, unit = f"{self.title} {progress.stage}".strip(), 1
        if progress.stage == "downloading":
            what, unit = f"{what}, MB", 10**6
        self.show(progress.done // unit, progress.total // unit, what)
        if progress.note and self._bar is not None:
            self._bar.say(progress.note)
        elif progress.note:
            say(progress.note)

    def show(self, done: int, total: int, what: str, line: str = "") -> None:
        """Show where anything stands, or say the line, at every tenth of the whole."""
        if not self.used and _wanted.notes and is_watched():
            self._bar = Bar(stays=self._stays)
        self.used = True
        if self._bar is not None:
            self._bar.show(done, total, what)
        elif line and (tenths := 10 * done // max(1, total)) > self._tenths:
            self._tenths = tenths
            say(line)

    def say_unseen(self, line: str) -> None:
        """Say how far it is, where no bar shows it."""
        if self._bar is None:
            say(line)


def print_json(payload: Any) -> None:
    """Print JSON on stdout; NaN, which JSON lacks, becomes null."""
    if _wanted.report:
        typer.echo(logs.to_json(_plain(payload), sys.stdout.encoding, allow_nan=False))


def print_lines(*lines: str) -> None:
    """Print on stdout."""
    if _wanted.report:
        typer.echo("\n".join(lines))


def print_table(
    titles: Sequence[str] | Mapping[str, str], rows: Iterable[Sequence[Any]], right: bool = False
) -> None:
    """Print columns on stdout: as wide as they need to be where nobody's terminal limits them.

    Titles may have the forms of their columns' numbers; what there is none of is left empty.
    """
    if not _wanted.report:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        table.add_column(title, justify="right" if right else "left")
    forms = list(titles.values()) if isinstance(titles, Mapping) else [""] * len(titles)
    for row in rows:
        table.add_row(*map(_cell, row, forms))
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def _cell(value: Any, form: str) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else format(value, form)


def say(message: str, level: int = logging.INFO) -> None:
    """One line on stderr, which says how bad it is; a line of the log where that is JSON."""
    if level < logging.ERROR and not _wanted.notes:
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
