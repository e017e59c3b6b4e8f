"""Ctrl-C and SIGTERM: a command ends in order, wherever they meet it."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from coupling_core.base.errors import Cancelled

_AGAIN = 0.1
"""Seconds after which a signal that came during an import comes again."""


def hear_ctrl_c() -> None:
    """From now on Ctrl-C waits for the end of an import.

    Python's own handler raises in its midst, from where C++ may call Python: torch then aborts
    without a word of ours, and numpy, half imported, cannot be imported again. Who had this
    process ignore Ctrl-C, as a shell has what runs in its background, is obeyed.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


@contextmanager
def stopping(message: str | Callable[[], str]) -> Iterator[None]:
    """What is asked to end, by a signal or at the keyboard, ends in order, with that message."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except KeyboardInterrupt:
        raise Cancelled(message if isinstance(message, str) else message()) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    if not _is_importing(frame):
        raise KeyboardInterrupt
    later = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
    later.daemon = True
    later.start()


def _is_importing(frame: FrameType | None) -> bool:
    while frame:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
