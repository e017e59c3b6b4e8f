"""`coupling doctor`: what is right and what is wrong with this installation."""

from dataclasses import asdict

import typer

from coupling_core.cli import options
from coupling_core.cli.terminal import print_json, print_table, say


def doctor(as_json: options.Json = False) -> None:
    """Say what is installed, which devices and models are here, and what does not work."""
    from coupling_core.serving.doctor import Finding, examine  # torch

    found: list[Finding] = []
    for finding in examine():
        if not found or finding.about != found[-1].about:
            say(f"looked at {finding.about}")
        found.append(finding)
    if as_json:
        print_json([asdict(finding) for finding in found])
    else:
        print_table(("", "about", "found"), [(f.state, f.about, f.text) for f in found])
    raise typer.Exit(int(any(finding.state == "wrong" for finding in found)))
