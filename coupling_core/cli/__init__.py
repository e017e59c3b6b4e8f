"""The command line: `python -m coupling_core`, also installed as `coupling`.

    depth, ...    one for each folder of `coupling_core.kinds`, which has it
    others        in the file of that name; `jobs`, `health` and `app` in `serve`

    commands      all of them, with the fields of their records of options as parameters
    one_or_many   one prompt measured and reported, or many averaged
    rows          a prompt in a row, and means  shown         the figures of one prompt and of many
    reports       what is printed of a result   terminal      progress, tables, JSON
    files         what --out writes             signals       Ctrl-C ends a command in order
    completing    what a shell completes beside options

Exit status: 0 done, 2 the input is wrong, 1 the computing failed, 130 stopped by Ctrl-C; each but
the first is one line on stderr. What takes long to import is imported where it is used: a stored
answer needs none of it, and Ctrl-C shall meet a command, not its imports.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:  # slow to import, and no command is needed to stop
    import typer

__all__ = ["main"]

_STOPPED = 130
"""The exit status that shells know Ctrl-C by."""


def main(app: "typer.Typer | None" = None) -> NoReturn:
    """Run a command line, `coupling` unless told, and leave with its exit status."""
    # Read by OpenMP when torch is imported: threads that spin while they wait hold up the others.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from coupling_core.base.allocator import keep_freed
        from coupling_core.cli.signals import hear_ctrl_c

        hear_ctrl_c()
        keep_freed()
        status = _run(app)
        # Nothing is left to stop then, and nobody to say so.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        sys.exit(status)
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        os.write(sys.stderr.fileno(), b"stopped\n")
        sys.exit(_STOPPED)


def _run(app: "typer.Typer | None") -> int:
    """Run a command, and say in a line why its exit status is not 0."""
    import typer

    from coupling_core.base import logs
    from coupling_core.base.errors import Cancelled, ComputeError, InputError
    from coupling_core.base.folders import give_home

    if sys.stdout is None:  # whoever started this closed it
        sys.stdout = Path(os.devnull).open("w")
    if isinstance(sys.stdout, TextIOWrapper):  # the name of a file may be no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        give_home()  # before a library is imported that looks for it
        from coupling_core.cli import (
            commands,  # which imports kinds, and they this package
            terminal,
        )

        terminal.begin()
        if "COUPLING_LOG" in os.environ:  # to read all settings takes long, for a stored answer
            with suppress(InputError):  # `doctor` tells of those that cannot be used
                logs.set_up()
        # The name that shells complete: of `python -m coupling_core` they can make none.
        called = "coupling" if app is None else None
        status = (app or commands.app)(standalone_mode=False, prog_name=called) or 0
        sys.stdout.flush()
    except typer.TyperException as error:
        return _say(_misused(error), 2)
    except InputError as error:
        return _say(str(error), 2)
    except ComputeError as error:
        return _say(str(error), 1)
    except Cancelled as error:
        return _say(str(error), _STOPPED)
    except MemoryError:
        return _say("memory ran out: choose a smaller model, or close other programs", 1)
    except OSError as error:
        with suppress(OSError):  # where printing failed, the rest cannot be printed either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = error.filename or "the output"
        return _say(f"{what} cannot be read or written: {error.strerror or error}", 1)
    return _say("stopped", status) if status == _STOPPED else status


def _misused(error: "typer.TyperException") -> str:
    """What was wrong with a command; a text without --prompt is what people forget."""
    told = error.format_message().replace("Value error, ", "")  # which pydantic puts first
    context = getattr(error, "ctx", None)
    if context is not None and told.startswith("Got unexpected extra argument"):
        if any("--prompt" in one.opts for one in context.command.params):
            told += f'; a text comes after --prompt: {context.command_path} --prompt "The cat sat"'
    return told or "a command is missing"


def _say(message: str, status: int) -> int:
    import logging

    from coupling_core.cli.terminal import begin, say

    begin()  # this is said however quiet the command was
    say(message, logging.INFO if status == _STOPPED else logging.ERROR)
    return status
