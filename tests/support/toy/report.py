"""What is said of it."""

from typing import Any

from coupling_core.base.records import AnyView
from coupling_core.cli import reports
from coupling_core.cli.terminal import print_lines
from toy import NormsResult


def summary(result: NormsResult, view: AnyView) -> dict[str, Any]:
    return {"token": result.token, "norms": result.norms}


def show(result: NormsResult, view: AnyView) -> None:
    norms = " ".join(f"{norm:.4f}" for norm in result.norms)
    print_lines(*reports.head(result), f"norms       {norms}")
