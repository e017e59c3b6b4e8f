"""Log lines for a machine to read: with COUPLING_LOG=json, one JSON object a line on stderr.

Each has `time` (UTC), `level`, `logger`, `message`, and the fields of its event; of an exception it
has the class and where it was raised. What an exception says is left out, for it may quote a
prompt. With COUPLING_LOG=text nothing is set up: warnings go to stderr, as Python has it.
"""

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime

_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
FRAMES = "Raised in another process:\n"
"""How an error's note begins that has its frames there, and no word of what it says."""

_NAMED_IN_FULL = ("tornado.access", "uvicorn.access")
"""Loggers of requests by their address, which has the prompt."""

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
        return json.dumps(line, default=str, ensure_ascii=False)


def set_up() -> None:
    """Write the log as it is set; as often as one likes.

    Raises:
        InputError: where the settings cannot be used.
    """
    from coupling_core.base.settings import settings  # slow to import, for a command

    if settings().log == "text" or are_json():
        return
    root = logging.getLogger()
    root.addHandler(logging.StreamHandler())
    for name in ("coupling_core", "explorer"):
        logging.getLogger(name).setLevel(logging.INFO)
    for name in _NAMED_IN_FULL:
        logging.getLogger(name).disabled = True
    others = [x for x in root.manager.loggerDict.values() if isinstance(x, logging.Logger)]
    for logger in (root, *others):
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                handler.setFormatter(Lines())
    logging.captureWarnings(True)
    threading.excepthook = _thread_died


def are_json() -> bool:
    """Whether the log is written as JSON."""
    return any(isinstance(handler.formatter, Lines) for handler in logging.getLogger().handlers)


def _thread_died(args: threading.ExceptHookArgs) -> None:
    error = args.exc_value or args.exc_type()
    _log.error("a thread died", exc_info=(args.exc_type, error, args.exc_traceback))
