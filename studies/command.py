"""How a study is run from a shell: its function becomes a command."""

from collections.abc import Callable
from typing import NoReturn

import typer

from coupling_core.cli import main


def run(command: Callable[..., None]) -> NoReturn:
    """Run it as `coupling` runs its commands, and leave with the exit status."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    main(app)
