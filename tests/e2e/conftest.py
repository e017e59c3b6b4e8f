"""One browser for all, and one server for each setting of the app.

The server at home is started once a process; a setting of its own has one file, whose `app` it is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import SWITCHES, WAIT, App, Visit, browser_path, home_in, serving
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


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where models that are trained here go."""
    return Path(home_in(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Iterator[App]:
    """The app as it is without any setting."""
    folder = tmp_path_factory.mktemp("app")
    with serving(folder / "store", folder / "log.txt", COUPLING_HOME=str(home)) as served:
        yield served


@pytest.fixture
def visit(browser: Browser, app: App) -> Iterator[Visit]:
    """Open an address of the app as another visitor: each has a session of its own."""
    contexts = []

    def come(address: str = "/", width: int = 1440, height: int = 1000, **more: Any) -> Page:
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **more)
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.goto(app.url + address)
        return page

    yield come
    for context in contexts:
        context.close()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page of a browser without a network."""
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()
