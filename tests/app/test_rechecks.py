"""The Recheck button: what it tells of a result, without the page waiting for a model."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import mortal
import pytest
import tiny
from streamlit.testing.v1 import AppTest

from coupling_core import Request, Store, measure
from explorer.pages.runs import rechecks
from explorer.server import backend

SECONDS = 60


@pytest.fixture(autouse=True)
def _none_before() -> Iterator[None]:
    backend.store.forget()  # the store of another test
    rechecks._runs.clear()
    yield
    for run in rechecks._runs.values():
        run.worker.close()
        run.found.exception(SECONDS)
    rechecks._runs.clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.folder(tmp_path / "tiny")


def page() -> None:
    import streamlit as st

    from coupling_core import Store
    from explorer.pages.runs import rechecks

    for entry in [found for found in Store().entries() if not found.read_only]:
        rechecks.show(entry, st.button(f"Recheck {entry.key}"))


def pressed() -> AppTest:
    app = AppTest.from_function(page, default_timeout=SECONDS).run()
    app.button[0].click().run()
    assert not app.exception
    return app


def ended(app: AppTest) -> AppTest:
    for run in rechecks._runs.values():
        run.found.result(SECONDS)
    return app.run()


def test_what_is_unchanged_is_told_once_it_is_known(folder: Path) -> None:
    measure(Request((5, 6, 7), model=str(folder), k=2), Store())
    app = pressed()
    assert "is run through its model again" in app.caption[0].value
    (begun,) = rechecks._runs.values()
    assert not app.button[0].click().run().warning
    assert list(rechecks._runs.values()) == [begun]
    # Which library multiplies is timed in each process: the other one may be told behind it.
    assert ended(app).success[0].value.startswith("Unchanged to the bit")


def test_there_is_one_at_a_time(folder: Path) -> None:
    for token in (1, 2):
        measure(Request((5, 6, 7), model=str(folder), k=2, token=token), Store())
    app = pressed()
    (begun,) = rechecks._runs
    app.button[1].click().run()
    assert app.warning[0].value.startswith("Another result is being rechecked")
    assert list(rechecks._runs) == [begun]


def test_why_a_model_cannot_be_rechecked_is_told(folder: Path) -> None:
    measure(Request((5, 6, 7), model=str(folder), k=2), Store())
    shutil.rmtree(folder)
    told = ended(pressed()).info[0].value
    assert told.startswith("Unknown: model")
    assert "there is no such file or folder" in told


def test_a_process_that_dies_takes_nothing_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(Request((5, 6, 7), model=str(folder), k=2), Store())
    monkeypatch.setattr(rechecks, "_rechecked", mortal.recheck)
    told = ended(pressed()).info[0].value
    assert told.startswith("Unknown: the worker process was ended by SIGSEGV")
