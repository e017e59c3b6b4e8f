"""Pages without a browser: opened from app.py, on an own store and the real gallery."""

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import mortal
import pytest
import streamlit as st
from handling import shipped
from screen import PAGES, Open
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from waiting import PATIENCE

from coupling_core import DepthResult, Request, Result, Store, measure
from coupling_core.base.settings import settings
from coupling_core.experiments.gallery import requests
from coupling_core.measuring.worker import ceiling, serving
from explorer.asking import queue
from explorer.server import backend, engine, needs

ROOT = Path(__file__).parents[2]
Measured = Callable[..., Result]

# Each AppTest reads what every installed package says of itself, which takes longer than a page.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def fresh() -> None:
    """Forget the queue of the test before; its worker goes on, in this test's environment."""
    st.cache_resource.clear()
    backend.store.forget()
    queue.queue.forget()
    needs._probe.cache_clear()
    backend.look_again()
    if engine.worker.pid:
        engine.worker.call(partial(mortal.move, dict(os.environ)))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process do what the worker does, for what a test plants in it."""
    monkeypatch.setattr(serving, "serves", True)
    monkeypatch.setattr(ceiling, "renew", lambda mapped=0: None)  # it would hold the tests too


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a page by its title, as a link with a query would; nothing may go wrong unseen."""
    monkeypatch.chdir(ROOT)
    fresh()

    def open_it(title: str, **query: str) -> AppTest:
        settings.cache_clear()  # a test may have set some
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        app.query_params.update(query)
        (app if title == "Start" else app.switch_page(PAGES[title])).run()
        assert not app.exception
        return app

    return open_it


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An app that strangers use."""
    monkeypatch.setenv("COUPLING_MODE", "demo")
    return monkeypatch


@pytest.fixture
def tight(
    demo: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[pytest.MonkeyPatch]:
    """A demo of two models, short prompts and small K."""
    for name, value in {
        "MODELS": "smollm2-135m,coupling-explorer/mini-64@step256",
        "LONGEST_PROMPT": "30",
        "LARGEST_K": "20",
    }.items():
        demo.setenv(f"COUPLING_{name}", value)
    demo.chdir(tmp_path_factory.mktemp("elsewhere"))
    settings.cache_clear()
    yield demo
    settings.cache_clear()


@pytest.fixture(scope="session")
def gallery() -> dict[tuple[int, bool], DepthResult]:
    """The committed results by the number of their prompt, and whether the model is trained."""
    return {(i // 2, one.untrained is None): shipped(one) for i, one in enumerate(requests())}


@pytest.fixture(scope="session")
def link(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """To a model that is measured in no time, and a prompt."""
    import tiny  # and with it torch

    folder = tiny.folder(tmp_path_factory.mktemp("models") / "tiny")
    return {"model": str(folder), "prompt": "The cat sat"}


@pytest.fixture
def measured(link: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Have a result of that model in the store of this test; it is measured once a session."""
    elsewhere = Store(tmp_path_factory.getbasetemp() / "measured")

    def have(kind: str = "depth", **asked: object) -> Result:
        result = measure(Request(**link, kind=kind, **asked), elsewhere)
        Store().put(result)
        return result

    return have


@pytest.fixture
def nothing_shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of sweeps, there is only what a test plants."""
    monkeypatch.setattr("coupling_core.experiments.sweeps.journal.SWEEPS", tmp_path / "nowhere")
