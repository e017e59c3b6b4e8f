"""Ctrl-C during an import is heard when the import has ended."""

import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from coupling_core.base.errors import Cancelled
from coupling_core.cli import main
from coupling_core.cli.signals import hear_ctrl_c, stopping

STOPPED_WHILE_IMPORTED = """
import os, time
os.kill(os.getpid(), {number})
time.sleep(0.3)
IS_WHOLE = True
"""


@pytest.fixture(autouse=True)
def _as_at_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "imported_while_stopped.py"
    sys.modules.pop("imported_while_stopped", None)


def import_it() -> None:
    importlib.import_module("imported_while_stopped")
    time.sleep(10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_stops_waits_for_the_end_of_an_import(module: Path, number: int) -> None:
    module.write_text(STOPPED_WHILE_IMPORTED.format(number=int(number)))
    hear_ctrl_c()
    with pytest.raises(Cancelled), stopping("all is kept"):
        import_it()
    assert sys.modules["imported_while_stopped"].IS_WHOLE


def test_elsewhere_ctrl_c_is_heard_at_once() -> None:
    hear_ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_before_a_command_has_begun_ends_in_a_word(monkeypatch, capfd) -> None:
    stop = partial(os.kill, os.getpid(), signal.SIGINT)
    monkeypatch.setattr("coupling_core.cli.signals.hear_ctrl_c", stop)
    with pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code, capfd.readouterr()) == (130, ("", "stopped\n"))


def test_who_has_it_ignored_is_obeyed() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hear_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
