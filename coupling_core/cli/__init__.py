"""The command line: `python -m coupling_core`, also installed as `coupling`.

    depth      measure one prompt, or many           (options in `depth`, many in `prompts`)
    tokens     compare the tokens of a prompt        trajectory follow them through the blocks
    graph      the blocks as a graph                 compare    two stored results
    training   one prompt over training runs         (step by step in `checkpoints`)
    models     which models are at hand
    prompts    what a file or a data set gives      (in `sources`)
    runs       the store: ls, show, verify, recheck, rm, export, import
    suite      training runs: list, train
    sweep      many models with many prompts: run, status, report
    vision     vision transformers: list, train
    app        the app, served                (in `serve`)
    doctor     what is right and wrong with this installation
    health     whether a running app answers and its worker lives
    bench      how fast and how exact the engine is here

    options    what the commands share of them        terminal    progress bar, tables, JSON
    reports    what is printed, by kind of result     files       what --out writes
    stored     stored results by what people type

Exit status: 0 done, 2 the input is wrong, 1 the computing failed; each failure is one line on
stderr. What takes long to import is imported where it is used, since a stored answer needs none of
it.
"""

import logging
import os
import sys
from contextlib import suppress
from io import TextIOWrapper

import typer

from coupling_core.base import logs
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.cli.bench import bench
from coupling_core.cli.compare import compare
from coupling_core.cli.depth import depth
from coupling_core.cli.doctor import doctor
from coupling_core.cli.graph import graph
from coupling_core.cli.health import health
from coupling_core.cli.models import models
from coupling_core.cli.runs import app as runs
from coupling_core.cli.serve import serve
from coupling_core.cli.sources import show_prompts
from coupling_core.cli.suite import app as suite
from coupling_core.cli.sweep import app as sweep
from coupling_core.cli.terminal import say
from coupling_core.cli.tokens import tokens
from coupling_core.cli.training import training
from coupling_core.cli.trajectory import trajectory
from coupling_core.cli.vision import app as vision

__all__ = ["app", "main"]

app = typer.Typer(
    help="Measure transformer block coupling.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(depth)
app.command()(tokens)
app.command()(trajectory)
app.command()(graph)
app.command()(compare)
app.command()(training)
app.command()(models)
app.command("prompts")(show_prompts)
app.command("app")(serve)
app.command()(doctor)
app.command()(health)
app.command()(bench)
app.add_typer(runs, name="runs")
app.add_typer(suite, name="suite")
app.add_typer(sweep, name="sweep")
app.add_typer(vision, name="vision")


def main() -> None:
    """Run the command line and leave with its exit status."""
    if isinstance(sys.stdout, TextIOWrapper):  # the name of a file may be no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if "COUPLING_LOG" in os.environ:  # to read all settings takes long, for a stored answer
            with suppress(InputError):  # `doctor` tells of those that cannot be used
                logs.set_up()
        status = app(standalone_mode=False)
    except typer.TyperException as error:
        sys.exit(_say(error.format_message() or "a command is missing", 2))
    except InputError as error:
        sys.exit(_say(str(error), 2))
    except ComputeError as error:
        sys.exit(_say(str(error), 1))
    except MemoryError:
        sys.exit(_say("memory ran out: choose a smaller model, or close other programs", 1))
    sys.exit(status or 0)


def _say(message: str, status: int) -> int:
    say(message, logging.ERROR)
    return status
