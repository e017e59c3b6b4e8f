"""The Recheck button: what it tells of a result, without the page waiting for a model."""

from collections.abc import Iterator
from pathlib import Path

import mortal
import pytest
import tiny
from handling import press
from streamlit.testing.v1 import AppTest
from waiting import PATIENCE

from coupling_core import Request, Store, measure
from explorer.pages.runs import rechecks
from explorer.server import backend

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def _none_before() -> Iterator[None]:
    backend.store.forget()  # the store of another test
    rechecks._runs.clear()
    yield
    for run in rechecks._runs.values():
        run.worker.close()
        run.found.exception(PATIENCE)
    rechecks._runs.clear()


def page() -> None:
    import streamlit as st

    from coupling_core import Store
    from explorer.pages.runs import rechecks

    for entry in [found for found in Store().entries() if not found.read_only]:
        rechecks.show(entry, st.button(f"Recheck {entry.key}"))


def ended(app: AppTest) -> AppTest:
    for run in rechecks._runs.values():
        run.found.result(PATIENCE)
    return app.run()


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    """A page of two results."""
    folder = str(tiny.folder(tmp_path / "tiny"))
    for token in (1, 2):
        measure(Request((5, 6, 7), model=folder, k=2, token=token), Store())
    return AppTest.from_function(page, default_timeout=PATIENCE).run()


def test_what_is_unchanged_is_told_once_it_is_known_and_one_at_a_time(app: AppTest) -> None:
    press(app, "Recheck")
    (begun,) = rechecks._runs.values()
    assert not app.button[0].click().run().warning
    app.button[1].click().run()
    assert app.warning  # another one is under way
    assert list(rechecks._runs.values()) == [begun]
    app.button[0].click().run()
    assert ended(app).success


def test_a_process_that_dies_takes_nothing_with_it(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rechecks, "_rechecked", mortal.recheck)
    assert "SIGSEGV" in ended(press(app, "Recheck")).info[0].value
