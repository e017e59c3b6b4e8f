"""`coupling doctor`: what is right and what is wrong with this installation."""

import typer

from coupling_core.cli import options
from coupling_core.cli.terminal import print_records, say


def doctor(report: options.Printing) -> None:
    """Say what is installed, which devices and models are here, and what does not work."""
    from coupling_core.serving.doctor import Finding, examine  # torch

    found: list[Finding] = []
    for finding in examine():
        if not found or finding.about != found[-1].about:
            say(f"looked at {finding.about}")
        found.append(finding)
    report.tell(lambda: found, lambda: print_records(found))
    raise typer.Exit(int(any(finding.state == "wrong" for finding in found)))
