"""All commands together: those of the kinds of results, and those that are of no one kind."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from coupling_core.base.folders import expanded
from coupling_core.base.kinds import KindOfResult, kinds
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

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result and errors.")]


def _at_home(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_at_home, value))
    return expanded(value) if isinstance(value, Path) else value


def _spread(one: Parameter) -> list[Parameter]:
    """The fields of a record of options as parameters; another parameter as it is."""
    keyword = Parameter.KEYWORD_ONLY
    if not is_dataclass(one.annotation):
        return [one.replace(kind=keyword)]
    return [
        Parameter(each.name, keyword, default=each.default, annotation=each.type)
        for each in fields(one.annotation)
    ]


def of_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command as typer reads it: with the fields of its records of options, and --quiet."""
    own = signature(command).parameters
    records: dict[str, Any] = {
        name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)
    }

    @wraps(command)
    def called(*, quiet: bool = False, **given: Any) -> Any:
        if quiet:
            terminal.hush()
        # A shell leaves the ~ of --out=~/x.csv, and of what stands in quotes.
        given = {name: _at_home(value) for name, value in given.items()}
        for name, record in records.items():
            given[name] = record(**{each.name: given.pop(each.name) for each in fields(record)})
        return command(**given)

    parameters = [part for one in own.values() for part in _spread(one)]
    parameters.append(Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet))
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _version(value: bool) -> bool:
    if value:
        from coupling_core.base.installed import this

        terminal.print_lines(f"coupling {this().version}")
        raise typer.Exit
    return value


app = typer.Typer(
    help="Measure transformer block coupling.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


by_command: dict[str, KindOfResult] = {}
for kind in kinds().values():
    by_command.setdefault(kind.command, kind)
for kind in by_command.values():
    part = kind.part("command")
    app.command(kind.command)(getattr(part, "command", None) or part.command_of(kind))
for alone in (graph, compare, cross, prune, training, models, doctor, health, jobs, bench):
    app.command()(alone)
app.command("prompts")(show_prompts)
app.command("app")(serve)
groups = {"runs": runs, "suite": suite, "sweep": sweep, "vision": vision}
for name, group in groups.items():
    app.add_typer(group, name=name)
for group in (app, *groups.values()):
    for command in group.registered_commands:
        if command.callback is not None:
            command.callback, command.cls = of_options(command.callback), Strict
