"""The app served from this checkout, on an empty store, and a browser that looks at it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import LackingError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.driving import App


@contextmanager
def served() -> Iterator["App"]:
    """The app, while it lasts."""
    try:
        from tests.support.driving import serving
    except ImportError as error:
        raise LackingError(error) from error
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name) / "store", Path(name) / "log.txt") as app:
            yield app


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright

        from tests.support.driving import SWITCHES, browser_path

        path = browser_path()
    except (ImportError, RuntimeError) as error:
        raise LackingError(error) from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield browser
        browser.close()
