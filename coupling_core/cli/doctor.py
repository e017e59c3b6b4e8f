"""`coupling doctor`: what is right and what is wrong with this installation."""

import typer

from coupling_core.cli import options
from coupling_core.cli.terminal import print_records, say


def doctor(as_json: options.Json = False) -> None:
    """Say what is installed, which devices and models are here, and what does not work."""
    from coupling_core.serving.doctor import Finding, examine  # torch

    found: list[Finding] = []
    for finding in examine():
        if not found or finding.about != found[-1].about:
            say(f"looked at {finding.about}")
        found.append(finding)
    titles = ("", "about", "found")
    print_records(found, titles, lambda one: (one.state, one.about, one.text), as_json=as_json)
    raise typer.Exit(int(any(finding.state == "wrong" for finding in found)))
