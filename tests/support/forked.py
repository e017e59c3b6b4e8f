"""Processes of tests that begin at once: forked from one that has imported what they need."""

import sys
from collections.abc import Callable
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from os import pathsep
from typing import Any

import pytest

_CONTEXT = get_context("forkserver")
_NEEDED = ["store_processes"]


def forked(target: Callable[..., None], *args: Any) -> BaseProcess:
    """Run a function of a module in a process of its own."""
    with pytest.MonkeyPatch.context() as found:  # the one that forks is told no paths otherwise
        found.setenv("PYTHONPATH", pathsep.join(sys.path))
        _CONTEXT.set_forkserver_preload(_NEEDED)
        forkserver.ensure_running()
    process = _CONTEXT.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def barrier(parties: int) -> Any:
    """Where such processes wait for each other."""
    return _CONTEXT.Barrier(parties)
