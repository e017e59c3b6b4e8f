"""All commands together: those of the kinds of results, and those that are of no one kind."""

from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.kinds import PLAIN, KindOfResult, kinds
from coupling_core.cli import terminal
from coupling_core.cli.options import Output
from coupling_core.cli.serve import health, jobs, serve
from coupling_core.cli.shown import figures_of, of_many

ALONE = ("graph", "compare", "cross", "prune", "training", "models", "doctor", "bench", "prompts")
GROUPS = ("runs", "suite", "sweep", "vision")
"""Commands, and groups of them, in the files of their names."""
OTHERS: dict[str, Callable[..., None]] = {"jobs": jobs, "health": health, "app": serve}

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result and errors.")]


def _at_home(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_at_home, value))
    return expanded(value) if isinstance(value, Path) else value


def _spread(one: Parameter) -> list[Parameter]:
    """The fields of a record of options as parameters; another parameter as it is."""
    keyword, record = Parameter.KEYWORD_ONLY, one.annotation
    if not is_dataclass(record):
        return [one.replace(kind=keyword)]
    types = {each.name: each.type for each in fields(record)}
    if isinstance(record, type) and issubclass(record, Output):
        types["out"] = record.option()  # its words name the endings of the command's own files
    return [
        Parameter(each.name, keyword, default=_default(each), annotation=types[each.name])
        for each in fields(record)
    ]


def _default(of: Field[Any]) -> Any:
    return Parameter.empty if of.default is MISSING else of.default


def _figure(command: str) -> Any:
    """The type of --figure: the figures that a command draws of one prompt, and of many."""
    many = ", ".join(of_many(command)) or "a dot for each"
    told = f"Which figure --out draws; with --prompts: {many}."
    return Annotated[Literal[*figures_of(command)], typer.Option(help=told)]


def of_options(command: Any, name: str | None) -> Callable[..., Any]:
    """A command as typer reads it: with the fields of its records of options, and --quiet."""
    own = signature(command).parameters
    records: dict[str, Any] = {
        whole: one.annotation for whole, one in own.items() if is_dataclass(one.annotation)
    }

    parameters = [
        part.replace(annotation=_figure(str(name)))
        if (part.name, part.annotation) == ("figure", str)
        else part
        for one in own.values()
        for part in _spread(one)
    ]
    usual = {one.name: one.default for one in parameters}

    @wraps(command)
    def called(*, quiet: bool = False, **given: Any) -> Any:
        if quiet:
            terminal.hush()
        if given.get("many") is not None and "figure" in given:
            _require_of_many(given["figure"], of_many(str(name)), usual["figure"])
        # A shell leaves the ~ of --out=~/x.csv, and of what stands in quotes.
        given = {option: _at_home(value) for option, value in given.items()}
        for whole, record in records.items():
            given[whole] = record(**{each.name: given.pop(each.name) for each in fields(record)})
        return command(**given)

    parameters.append(Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet))
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _require_of_many(figure: str, drawn: Collection[str], usual: str) -> None:
    """Refuse the figure of one prompt; the usual one has another in its place."""
    if figure not in (usual, *drawn):
        instead = f"choose {', '.join(drawn)}" if drawn else "leave it out"
        raise InputError(f"{figure} is a figure of one prompt; with --prompts, {instead}")


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


of_kinds: dict[str, KindOfResult] = {}
for kind in kinds().values():
    of_kinds.setdefault(kind.command, kind)
for name, kind in of_kinds.items():
    own = getattr(kind.part("command"), "command", None)
    app.command(name)(own or import_module(f"{PLAIN}.command").command_of(kind))
for alone in ALONE:
    app.command(alone)(getattr(import_module(f"coupling_core.cli.{alone}"), alone))
for name, command in OTHERS.items():
    app.command(name)(command)
groups = {name: import_module(f"coupling_core.cli.{name}").app for name in GROUPS}
for name, group in groups.items():
    app.add_typer(group, name=name)
for group in (app, *groups.values()):
    for found in group.registered_commands:
        found.callback = of_options(found.callback, found.name)
