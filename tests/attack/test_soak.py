"""Mixed use for minutes on end: what a server holds at its end is what it held at its beginning.

SOAK_MINUTES says for how long, 3 by default.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from driving import App, serving
from wire import visiting

MINUTES = float(os.environ.get("SOAK_MINUTES", "3"))
VISITORS = 6
PAGES = ("", "Depth", "Tokens", "Trajectories", "Layer_graph", "Training", "Compare", "Runs")
FORGOTTEN = 10
"""Seconds for which Streamlit keeps a session that has left, and its descriptors, in case it comes
back; it looks when somebody comes."""
FILLS = 1 / 3
"""Part of the minutes, before them, in which what is kept of figures fills up to its bound."""
GROWTH = 64 * 2**20
"""Bytes by which memory may have grown afterwards: it goes up and down by half of that."""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    forget = f"--server.disconnectedSessionTTL={FORGOTTEN}"
    bound = {"COUPLING_STORE_BYTES": str(2**27)}
    with serving(tmp_path / "store", tmp_path / "log.txt", forget, **bound) as served:
        yield served


def use(url: str, minutes: float) -> list[str]:
    """Visitors who come and go, one who has prompts measured, and one who changes her mind."""
    end, errors = time.monotonic() + 60 * minutes, []

    def come(number: int) -> None:
        while time.monotonic() < end:
            with visiting(url) as visitor:
                if number < 2:
                    visitor.open(f"Depth?prompt=Number+{time.monotonic_ns()}")
                    visitor.press("Compute")
                    if number == 0:
                        visitor.wait(900)
                for page in PAGES:
                    visitor.open(page)
                    errors.extend(visitor.errors())
                    time.sleep(1)

    with ThreadPoolExecutor(VISITORS + 2) as pool:
        list(pool.map(come, range(VISITORS + 2)))
    time.sleep(FORGOTTEN + 5)
    with visiting(url) as visitor:
        visitor.open("Method")
    return errors


def held(server: psutil.Process) -> dict[str, int]:
    """By the app and its workers."""
    every = [server, *server.children(recursive=True)]
    return {
        "bytes": sum(one.memory_info().rss for one in every),
        "threads": sum(one.num_threads() for one in every),
        "descriptors": sum(one.num_fds() for one in every),
    }


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(0)
def test_a_server_holds_no_more_at_the_end(app: App) -> None:
    server = psutil.Process(app.pid)
    errors = use(app.url, max(1, FILLS * MINUTES))  # what is loaded once is then there too
    first = held(server)
    errors += use(app.url, MINUTES)
    last = held(server)
    assert not errors
    assert last["bytes"] - first["bytes"] < GROWTH
    assert last["threads"] <= first["threads"] + VISITORS
    assert last["descriptors"] <= first["descriptors"] + VISITORS
