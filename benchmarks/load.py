"""Many visitors at once: pages of stored results, measurements that several ask for, many jobs.

The app is served from this checkout on an empty store beside the results that ship. The visitors
speak Streamlit's own messages over websockets (`tests/support/wire.py`): what their browsers would
take to draw is left out, and what the server sends is read to the end of each page.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import psutil

from benchmarks import common

VISITORS, ARRIVING = 30, 10.0  # seconds within which they come
PAGES = ("Start", "Depth", "Tokens", "Trajectories", "Layer_graph", "Training", "Compare", "Runs")
EACH = 3
"""Pages that each visitor looks at."""
ASKING, QUESTIONS = 20, 5
JOBS, QUICK_JOBS, AT_ONCE = 200, 6, 4
WARM_UP = 20
"""Jobs before memory is looked at first: what is imported or remembered once is then there."""
MODEL = {"model": "coupling-explorer/mini-64", "rev": "step4000", "k": "8"}


def at_once(visits: Sequence[Callable[[], object]], arriving: float = 0.0) -> list[float]:
    """Seconds that each visit takes, begun evenly within `arriving` seconds, in threads."""
    start = time.perf_counter()

    def come(number: int) -> float:
        time.sleep(max(0.0, start + arriving * number / len(visits) - time.perf_counter()))
        begin = time.perf_counter()
        visits[number]()
        return time.perf_counter() - begin

    with ThreadPoolExecutor(len(visits)) as pool:
        return list(pool.map(come, range(len(visits))))


def looking(url: str, visitors: int, arriving: float = ARRIVING) -> common.Results:
    """Seconds of every page that the visitors look at, and the errors that were shown."""
    from tests.support.wire import visiting

    seconds: list[dict[str, float | str]] = []
    errors: list[str] = []

    def look(number: int) -> None:
        with visiting(url) as visitor:
            for turn in range(EACH):
                page = PAGES[(number + turn) % len(PAGES)]
                seconds.append(
                    {"page": page, "seconds": visitor.open("" if page == "Start" else page)}
                )
                errors.extend(visitor.errors())
                if page != "Runs" and not any(visitor.elements("plotly_chart")):
                    errors.append(f"{page} showed no figure")

    visits = [lambda number=number: look(number) for number in range(visitors)]
    at_once(visits, arriving)
    return {"pages": seconds, "errors": errors}


def measured(url: str, prompt: str) -> list[str]:
    """Have a prompt measured through the Depth page, whoever else asks; gives errors shown."""
    from tests.support.wire import visiting

    with visiting(url) as visitor:
        visitor.open(f"Depth?{urlencode({'prompt': prompt, **MODEL})}")
        if any(button.label == "Compute" for button in visitor.elements("button")):
            visitor.press("Compute")
        visitor.wait()
        drawn = any(visitor.elements("plotly_chart"))
        return visitor.errors() or [] if drawn else ["no result was shown"]


def asking(url: str, store: Path, visitors: int) -> common.Results:
    """Several visitors ask for each of a few measurements."""
    errors: list[str] = []
    prompts = [f"Question {number} of the class was" for number in range(QUESTIONS)]
    visits = [
        lambda prompt=prompts[number % QUESTIONS]: errors.extend(measured(url, prompt))
        for number in range(visitors)
    ]
    seconds = at_once(visits)
    return {
        "visitors": visitors,
        "asked": min(visitors, QUESTIONS),
        "computed": len(list(store.glob("*.safetensors"))),
        "seconds": seconds,
        "errors": errors,
    }


def jobs(url: str, server: psutil.Process, count: int) -> common.Results:
    """Threads and memory of the server before and after many jobs, by a few visitors at once."""
    errors: list[str] = []

    def run(begin: int, end: int) -> None:
        prompts = [f"Job number {number} says that" for number in range(begin, end)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for found in pool.map(lambda prompt: measured(url, prompt), prompts):
                errors.extend(found)
        time.sleep(2)  # the queue has come to its end, and the sessions are closed

    def held() -> common.Results:
        return {"bytes": server.memory_info().rss, "threads": server.num_threads()}

    run(0, WARM_UP)
    before, start = held(), time.perf_counter()
    run(WARM_UP, WARM_UP + count)
    return {
        "count": count,
        "seconds": time.perf_counter() - start,
        "before": before,
        "after": held(),
        "errors": errors,
    }


def collect(quick: bool) -> common.Results | None:
    """All three; None where what they need is not installed."""
    try:
        from tests.support.driving import serving
    except ImportError as error:
        sys.stdout.write(f"visitors are left out: {error}\n")
        return None
    machine = common.this_machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder / "store", folder / "log.txt") as app:
            looked = looking(app.url, AT_ONCE if quick else VISITORS)
            asked = asking(app.url, app.store, AT_ONCE if quick else ASKING)
            done = jobs(app.url, psutil.Process(app.pid), QUICK_JOBS if quick else JOBS)
    return machine | {"looking": looked, "asking": asked, "jobs": done}


def summary(results: common.Results) -> common.Rows:
    """Pages, shared measurements, and what many jobs leave behind."""
    looked, asked, done = results["looking"], results["asking"], results["jobs"]
    pages = [one["seconds"] for one in looked["pages"]]
    before, after = done["before"], done["after"]
    return [
        (
            f"{len(pages) // EACH} visitors within {ARRIVING:.0f} s, {EACH} stored pages each, "
            "a server that has just started",
            f"median page {median(pages):.2f} s, worst {max(pages):.2f} s, "
            f"{len(looked['errors'])} errors",
        ),
        (
            f"{asked['visitors']} visitors ask at once for {asked['asked']} measurements",
            f"{asked['computed']} computed; all have theirs after {max(asked['seconds']):.1f} s, "
            f"{len(asked['errors'])} errors",
        ),
        (
            f"what {done['count']} jobs leave in the server",
            f"{(after['bytes'] - before['bytes']) / 2**20:+.0f} MiB of "
            f"{before['bytes'] / 2**20:.0f}, {after['threads'] - before['threads']:+d} threads; "
            f"{len(done['errors'])} errors",
        ),
    ]
