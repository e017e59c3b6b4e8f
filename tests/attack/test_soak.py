"""Mixed use for minutes on end: what a server holds at its end is what it held at its beginning.

SOAK_MINUTES says for how long, 3 by default.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import psutil
import pytest
from driving import App, serving
from wire import visiting

from benchmarks import crowd

MINUTES = float(os.environ.get("SOAK_MINUTES", "3"))
VISITORS = 6
STAYS = 20.0
"""Seconds after which a visitor leaves and another comes."""
FORGOTTEN = 10
"""Seconds for which Streamlit keeps a session that has left, and its descriptors, in case it comes
back; it looks when somebody comes."""
FILLS = 1 / 3
"""Part of the minutes, before them, in which what is kept of figures fills up to its bound."""
GROWTH = 64 * 2**20
"""Bytes by which memory may have grown afterwards: it goes up and down by half of that."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder: Path = tmp_path_factory.mktemp("soak")
    forget = f"--server.disconnectedSessionTTL={FORGOTTEN}"
    files = folder / "store", folder / "log.txt"
    with serving(*files, forget, COUPLING_STORE_BYTES=str(2**27)) as served:
        yield served


def use(url: str, minutes: float, errors: list[str]) -> None:
    """Visitors who come and go, one who has prompts measured, and one who changes her mind."""
    end = time.monotonic() + 60 * minutes

    def change_of_mind() -> None:
        while time.monotonic() < end:
            with visiting(url) as visitor:
                visitor.open(f"Depth?prompt=Never+mind+number+{time.monotonic_ns()}")
                visitor.press("Compute")
                time.sleep(1)
                visitor.open("Runs")
                errors.extend(visitor.errors())
            time.sleep(3)

    others = Thread(target=change_of_mind)
    others.start()
    while (left := end - time.monotonic()) > 0:
        found = crowd.crowd(url, VISITORS, min(STAYS, left), measuring=True)
        errors.extend(found["errors"])
    others.join()
    time.sleep(FORGOTTEN + 5)
    with visiting(url) as visitor:
        visitor.open("Method")


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(0)
def test_a_server_holds_no_more_at_the_end(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    errors: list[str] = []
    server = psutil.Process(app.pid)
    use(app.url, max(1, FILLS * MINUTES), errors)  # what is loaded once is then there too
    first = crowd.held(server)
    use(app.url, MINUTES, errors)
    last = crowd.held(server)
    with capsys.disabled():
        print(f"\n{MINUTES:g} minutes: {first} became {last}")  # noqa: T201  # the figures
    assert not errors
    assert last["bytes"] - first["bytes"] < GROWTH
    assert last["threads"] <= first["threads"] + VISITORS
    assert last["descriptors"] <= first["descriptors"] + VISITORS
