"""The engine is imported without collecting garbage, while the weights are read from the disk."""

import gc
import os
import sys
import threading
from pathlib import Path

import pytest

from coupling_core import Request
from coupling_core.measuring import composing, startup
from coupling_core.sources.resolved import resolve


@pytest.fixture
def not_imported(monkeypatch):
    """As in a process that has measured nothing yet."""
    monkeypatch.setattr(startup, "_ENGINE", "coupling_core.not_imported")
    yield
    gc.unfreeze()


def advised(monkeypatch, request):
    """How many bytes of each file the system was told to read."""
    told, real = {}, os.posix_fadvise

    def advise(file, start, length, advice):
        real(file, start, length, advice)
        name = Path(f"/proc/self/fd/{file}").readlink().name
        assert start == told.get(name, 0)
        told[name] = start + length

    monkeypatch.setattr(os, "posix_fadvise", advise)
    before = set(threading.enumerate())
    with startup.importing(resolve(request)):
        assert not gc.isenabled()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    return told


def test_what_is_imported_is_not_collected_meanwhile_and_never_again(not_imported):
    before = gc.get_freeze_count()
    with startup.importing():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before


def test_a_process_that_has_imported_it_goes_on_collecting(folder):
    assert composing.__name__ in sys.modules
    before = gc.get_freeze_count()
    with startup.importing(resolve(Request("a", model=str(folder)))):
        assert gc.isenabled()
    assert gc.get_freeze_count() == before


@pytest.mark.skipif(sys.platform != "linux", reason="what is read is looked up in /proc")
def test_weights_are_read_to_their_end_meanwhile(folder, not_imported, monkeypatch):
    monkeypatch.setattr(startup, "_AT_ONCE", 1000)
    told = advised(monkeypatch, Request("a", model=str(folder)))
    assert set(told) == {"model.safetensors"}
    size = (folder / "model.safetensors").stat().st_size
    assert size <= told["model.safetensors"] < size + 1000


@pytest.mark.skipif(sys.platform != "linux", reason="what is read is looked up in /proc")
@pytest.mark.parametrize(
    ("changes", "share"), [({"untrained": 0}, 0.5), ({}, 0.0)], ids=["none needed", "no room"]
)
def test_weights_that_are_of_no_use_are_not_read(folder, changes, share, not_imported, monkeypatch):
    monkeypatch.setattr(startup, "_SHARE", share)
    assert advised(monkeypatch, Request("a", model=str(folder), **changes)) == {}
