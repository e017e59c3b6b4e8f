"""A real server, a real browser, and what people do with them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from coupling_core.base.folders import user_cache

ROOT = Path(__file__).parents[2]
STARTS_WITHIN = 150  # seconds, for a slow machine; nothing is timed
WAIT = 180_000
"""Milliseconds: long enough for a slow machine that computes; nothing is timed."""
DOUBLE_CLICK = 500
"""Milliseconds within which plotly takes two clicks for one double click."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ("--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu")

IDLE_DEMO = {"COUPLING_MODE": "demo", "COUPLING_READ_ONLY": "true"}
"""What makes the app a demo that may compute nothing."""
Visit = Callable[..., Page]
"""Opens an address as another visitor."""

expect.set_options(timeout=WAIT)


@dataclass(frozen=True)
class App:
    """A server of our own, and the folder of its results."""

    url: str
    store: Path
    pid: int

    @property
    def results(self) -> list[Path]:
        """What it has computed so far."""
        return sorted(self.store.glob("*.safetensors"))


@contextmanager
def serving(store: Path, log: Path, *more: str, **environment: str) -> Iterator[App]:
    """Serve the app from this checkout, and take the whole process group down afterwards."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "serve.py"]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", *more]
    with log.open("w") as output:
        process = subprocess.Popen(
            command + options,
            cwd=ROOT,
            env={**os.environ, "COUPLING_STORE": str(store), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_it_answers(process, url, log)
        yield App(url, store, process.pid)
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def home_in(folder: Path) -> str:
    """Where models that are trained in a served app go, beside the user's converted weights."""
    home = folder / "home"
    home.mkdir()
    (home / "models").symlink_to(user_cache() / "models")
    return str(home)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_answers(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Ask for its health while it lives: on a busy port another program would answer."""
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended at once:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not answer within {STARTS_WITHIN} s:\n{log.read_text()}")


def browser_path() -> str:
    """The Chromium of this machine."""
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    if not found:
        raise RuntimeError("no Chromium was found: run tests/install-chromium")
    return found[0]


def wait_for_chart(page: Page, key: str) -> None:
    """Wait until a figure is drawn, and the page at rest."""
    expect(page.locator(f".st-key-{key} .main-svg").first).to_be_visible()
    come_to_rest(page)


def come_to_rest(page: Page) -> None:
    """Wait until no script runs: until then the file of a button may go with the run before."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def compute(page: Page) -> None:
    """Press Compute."""
    page.get_by_role("button", name="Compute").click()


def taken(button: Locator, folder: Path) -> Path:
    """The file that a button downloads, under its own name."""
    expect(button).to_be_visible()
    come_to_rest(button.page)
    with button.page.expect_download() as caught:
        button.click()
    path = folder / caught.value.suggested_filename
    caught.value.save_as(path)
    return path
