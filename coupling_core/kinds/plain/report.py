"""What is said of a result of which nothing else is to be said than its numbers."""

from pathlib import Path
from typing import Any

from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines


def summary(result: Result, view: AnyView, *, stored: bool) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    token = {"token": token} if (token := getattr(result, "token", None)) else {}
    whole = {"whole": row(result, view)}
    return reports.about(result, stored=stored) | token | whole | arrays(result, view)


def show(result: Result, view: AnyView, *, stored: bool, out: Path | None = None) -> None:
    """Print one result: what it is of, its table, and its key."""
    print_lines(*reports.head(result), f"of          {result.measured}", "")
    reports.show_rows(result, view)
    failed = reports.uncertified(result.svds)
    print_lines("", *reports.foot(result, failed, stored=stored, out=out))
