"""What the commands share at the terminal: progress, tables, JSON."""

import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer
from pydantic_core import to_jsonable_python

from coupling_core.base import logs
from coupling_core.base.bars import Bar

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

Told = tuple[Any, Callable[[], None]]
"""What is reported: for JSON, and what prints it for people."""
NOTHING: Told = ({}, lambda: None)

_log = logging.getLogger(__name__)
_wanted = SimpleNamespace(notes=True, report=True)
"""What of a command's words goes out."""


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


def progress_bar(title: str = "", *, stays: bool = False) -> Bar:
    """How far something is, unless the command is quiet."""
    return Bar(title, stays=stays, shown=_wanted.notes, say=say)


def print_json(payload: Any) -> None:
    """Print JSON on stdout; NaN, which JSON lacks, becomes null."""
    if _wanted.report:
        plain = to_jsonable_python(payload, inf_nan_mode="null", fallback=methodcaller("tolist"))
        typer.echo(logs.to_json(plain, sys.stdout.encoding, allow_nan=False))


def print_lines(*lines: str) -> None:
    """Print on stdout."""
    if _wanted.report and lines:
        typer.echo("\n".join(lines))


def print_facts(**facts: object) -> None:
    """Print a line for each fact, as `fact_lines` has them."""
    print_lines(*fact_lines(**facts))


def fact_lines(**facts: object) -> list[str]:
    """A line for each fact, the first of several with its name; none of one that is None or ""."""
    lines: list[str] = []
    for name, fact in facts.items():
        several = fact if isinstance(fact, list | tuple) else [fact]
        told = [one for one in several if one is not None and one != ""]
        names = [name.replace("_", " "), *[""] * len(told)]
        lines += [f"{before:11} {one}" for before, one in zip(names, told, strict=False)]
    return lines


def print_table(titles: Sequence[str] | Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Print columns on stdout: as wide as they need to be where nobody's terminal limits them.

    Titles may have the forms of their columns' numbers, which then stand at the right; what there
    is none of is left empty.
    """
    if not _wanted.report:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    forms = titles if isinstance(titles, Mapping) else dict.fromkeys(titles, "")
    for title, form in forms.items():
        table.add_column(title, justify="right" if form else "left")
    for row in rows:
        table.add_row(*map(_cell, row, forms.values()))
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def print_records(records: Iterable[Any]) -> None:
    """Print a row for each dictionary or dataclass, all with the same fields."""
    rows = [one if isinstance(one, Mapping) else vars(one) for one in records]
    if rows:
        forms = {name: _form([row[name] for row in rows]) for name in rows[0]}
        print_table(forms, [[*row.values()] for row in rows])


def print_frame(table: "DataFrame") -> None:
    """Print a table of pandas."""
    print_records(table.to_dict("records"))


def _form(values: Sequence[Any]) -> str:
    """Of a column: whole numbers, others to four digits, or texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return "d"
    return "z.4g" if kinds and kinds <= {int, float} else ""


def _cell(value: Any, form: str) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
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
