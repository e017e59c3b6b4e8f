"""Log lines for a machine to read: with COUPLING_LOG=json, one JSON object a line on stderr.

Each has `time` (UTC), `level`, `logger`, `message`, and the fields of its event; of an exception it
has the class and where it was raised. What an exception says is left out, for it may quote a
prompt. With COUPLING_LOG=text nothing is set up: warnings go to stderr, as Python has it.

A server has all else that is written there as lines too, such as what a C++ library or a worker
says as it dies: its stderr becomes a pipe, and a thread makes every line of it an object.
"""

import atexit
import json
import logging
import os
import sys
import threading
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, BinaryIO

_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
FRAMES = "Raised in another process:\n"
"""How an error's note begins that has its frames there, and no word of what it says."""

_NAMED_IN_FULL = ("tornado.access", "uvicorn.access")
"""Loggers of requests by their address, which has the prompt."""

_LONGEST = 65_536
"""Bytes of a line that passes logging by; more of it is another line."""

_log = logging.getLogger(__name__)


class Lines(logging.Formatter):
    """Makes a record one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what JSON lacks becomes text."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and (error := record.exc_info[1]):
            line["error"] = type(error).__name__
            there = [n for n in getattr(error, "__notes__", ()) if n.startswith(FRAMES)]
            line["raised"] = "".join([*there, *traceback.format_tb(error.__traceback__)])
        return to_json(line, sys.stderr.encoding, default=str)


def to_json(value: Any, encoding: str | None, **options: Any) -> str:
    """A value as JSON for a stream: what is no ASCII is escaped where that is not in UTF-8."""
    is_utf8 = (encoding or "utf-8").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not is_utf8, **options)


def set_up(*, whole_process: bool = False) -> None:
    """Write the log as it is set; as often as one likes, for libraries make loggers as they go.

    Of the `whole_process` what passes logging by becomes lines too, on stdout as well: where nobody
    but a machine reads either.
    """
    from coupling_core.base.settings import settings  # slow to import, for a command

    if settings().log == "text":
        return
    if not are_json():
        _begin()
    if whole_process:
        _wrap_the_rest()
    for logger in list(logging.getLogger().manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            _pass_on(logger)


def _begin() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not _writes_to_stderr(one)] + [handler]
    for name in ("coupling_core", "explorer"):
        logging.getLogger(name).setLevel(logging.INFO)
    for name in _NAMED_IN_FULL:
        logging.getLogger(name).disabled = True
    logging.captureWarnings(True)
    threading.excepthook = _thread_died


def _pass_on(logger: logging.Logger) -> None:
    """Leave to the root what a library's logger would write to stderr in a form of its own."""
    if not logger.handlers and not logger.propagate:
        logger.setLevel(logging.WARNING)  # as Python writes what nobody handles
    own = [one for one in logger.handlers if not _writes_to_stderr(one)]
    if own != logger.handlers or not own:
        logger.handlers, logger.propagate = own, True


def _writes_to_stderr(handler: logging.Handler) -> bool:
    return isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr


def are_json() -> bool:
    """Whether the log is written as JSON."""
    return any(isinstance(handler.formatter, Lines) for handler in logging.getLogger().handlers)


@cache
def _wrap_the_rest() -> None:
    """Have each line that reaches stderr or stdout by any way written as an object, once."""
    true = os.fdopen(os.dup(2), "wb", buffering=0)
    reading, writing = os.pipe()
    reader = threading.Thread(target=_wrap, args=(reading, true), name="log lines", daemon=True)
    reader.start()
    for stream in (1, 2):
        os.dup2(writing, stream)
    os.close(writing)
    atexit.register(_unwrap, true, reader)


def _wrap(reading: int, true: BinaryIO) -> None:
    with os.fdopen(reading, "rb") as lines:
        while line := lines.readline(_LONGEST):
            if text := line.decode(errors="backslashreplace").strip():
                true.write(_as_object(text).encode() + b"\n")


def _as_object(text: str) -> str:
    """A line as it is where it is an object, else as the message of one."""
    if text.startswith("{"):
        with suppress(ValueError):
            json.loads(text)
            return text
    record = logging.makeLogRecord({"name": "stderr", "levelname": "WARNING", "msg": text})
    return Lines().format(record)


def _unwrap(true: BinaryIO, reader: threading.Thread) -> None:
    """Leave what is said from now on to stderr itself, and read what was said before."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number in (1, 2):
        os.dup2(true.fileno(), number)
    reader.join(0.5)  # a worker that is about to end may still hold the other end


def _thread_died(args: threading.ExceptHookArgs) -> None:
    error = args.exc_value or args.exc_type()
    _log.error("a thread died", exc_info=(args.exc_type, error, args.exc_traceback))
