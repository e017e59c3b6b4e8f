"""The command line: `python -m coupling_core`, also installed as `coupling`.

    depth, ...    one for each folder of `coupling_core.kinds`, which has it
    graph      the blocks as a graph                 compare    two stored results
    training   one prompt over training runs         (step by step in `checkpoints`)
    models     which models are at hand
    prompts    what a file or a data set gives      (in `sources`)
    runs       the store: ls, show, verify, recheck, rm, export, import
    suite      training runs: list, train
    sweep      many models with many prompts: run, status, report
    vision     vision transformers: list, train
    app        the app, served                (in `serve`)
    jobs       what running apps measure now, and an end to it
    doctor     what is right and wrong with this installation
    health     whether a running app answers and its worker lives
    bench      how fast and how exact the engine is here

    options    what the commands share of them        terminal    progress bar, tables, JSON
    reports    what is printed of a result            files       what --out writes
    stored     stored results by what people type     commands    all of them together

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
from coupling_core.cli.terminal import say

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit status."""
    from coupling_core.cli.commands import app  # which imports kinds, and they this package

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
