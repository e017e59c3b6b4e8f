"""One server a file of tests, on a store of its own; one browser for all."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import SWITCHES, WAIT, App, Visit, browser_path, serving
from playwright.sync_api import Browser, Page, sync_playwright


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder: it drives a browser, and measures the real model."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=browser_path(), args=list(SWITCHES))


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app, with what its file's `SETTINGS` say of its environment."""
    folder = tmp_path_factory.mktemp("app")
    some = getattr(request.module, "SETTINGS", {})
    with serving(folder / "store", folder / "log.txt", **some) as served:
        yield served


@pytest.fixture
def visit(browser: Browser, app: App) -> Iterator[Visit]:
    """Open an address of the app as another visitor: each has a session of its own."""
    contexts = []

    def come(address: str = "/", width: int = 1440, height: int = 1000) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.goto(app.url + address)
        return page

    yield come
    for context in contexts:
        context.close()
