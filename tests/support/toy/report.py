"""What is said of it."""

from pathlib import Path
from typing import Any

from coupling_core.base.records import AnyView
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines
from toy import NormsResult


def summary(result: NormsResult, view: AnyView, *, stored: bool) -> dict[str, Any]:
    return reports.about(result, stored=stored) | {"token": result.token, "norms": result.norms}


def show(result: NormsResult, view: AnyView, *, stored: bool, out: Path | None = None) -> None:
    print_lines(
        *reports.head(result),
        f"norms       {' '.join(f'{norm:.4f}' for norm in result.norms)}",
        *reports.foot(result, (), stored=stored, out=out),
    )
