"""All commands together: those of the kinds of results, and those that are of no one kind."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from coupling_core.base.folders import expanded
from coupling_core.base.kinds import FOLDERS
from coupling_core.cli import terminal
from coupling_core.cli.bench import bench
from coupling_core.cli.compare import compare
from coupling_core.cli.cross import cross
from coupling_core.cli.doctor import doctor
from coupling_core.cli.graph import graph
from coupling_core.cli.health import health
from coupling_core.cli.jobs import jobs
from coupling_core.cli.models import models
from coupling_core.cli.prune import prune
from coupling_core.cli.runs import app as runs
from coupling_core.cli.serve import serve
from coupling_core.cli.sources import show_prompts
from coupling_core.cli.strict import Strict
from coupling_core.cli.suite import app as suite
from coupling_core.cli.sweep import app as sweep
from coupling_core.cli.training import training
from coupling_core.cli.vision import app as vision

HELP = {"help_option_names": ["-h", "--help"]}


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result and errors.")]


def _at_home(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_at_home, value))
    return expanded(value) if isinstance(value, Path) else value


def hushed(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with the option --quiet, which all have."""

    @wraps(command)
    def quietly(*args: Any, quiet: bool = False, **kwargs: Any) -> Any:
        if quiet:
            terminal.hush()
        # A shell leaves the ~ of --out=~/x.csv, and of what stands in quotes.
        kwargs = {name: _at_home(value) for name, value in kwargs.items()}
        return command(*args, **kwargs)

    own = signature(command)
    more = Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    quietly.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), more]
    )
    quietly.__annotations__ = command.__annotations__ | {"quiet": Quiet}
    return quietly


def _version(value: bool) -> bool:
    if value:
        from coupling_core.base.installed import this

        terminal.print_lines(f"coupling {this().version}")
        raise typer.Exit
    return value


app = typer.Typer(
    help="Measure transformer block coupling.",
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
)


@app.callback()
def top(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Measure transformer block coupling."""


for folder in FOLDERS:
    app.command(folder.rpartition(".")[2])(import_module(f"{folder}.command").command)
app.command()(graph)
app.command()(compare)
app.command()(cross)
app.command()(prune)
app.command()(training)
app.command()(models)
app.command("prompts")(show_prompts)
app.command("app")(serve)
app.command()(doctor)
app.command()(health)
app.command()(jobs)
app.command()(bench)
app.add_typer(runs, name="runs")
app.add_typer(suite, name="suite")
app.add_typer(sweep, name="sweep")
app.add_typer(vision, name="vision")
for group in (app, runs, suite, sweep, vision):
    for command in group.registered_commands:
        if command.callback is not None:
            command.callback, command.cls = hushed(command.callback), Strict
