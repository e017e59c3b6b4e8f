"""Warnings that point at the line which called the package, however deep they arise."""

import sys
import warnings

_OURS = __name__.partition(".")[0]


def warn_caller(message: str) -> None:
    """Warn whoever called, from anywhere in the package: a `UserWarning` of their own line."""
    level, frame = 1, sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
