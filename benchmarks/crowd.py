"""Many visitors who look at stored pages, while nobody or one of them has prompts measured.

The visitors speak Streamlit's own messages over websockets (`tests/support/wire.py`): what their
browsers would take to draw is left out. What is measured is a prompt that nobody asked for before,
with the default model; alone it is timed too, before the crowd comes.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from statistics import median
from threading import Thread
from urllib.parse import urlencode

import numpy as np

from benchmarks import common
from benchmarks.served import served

PAGES = ("", "Depth", "Tokens", "Trajectories", "Layer_graph", "Training", "Compare", "Runs")
SIZES = (30, 100)
"""Visitors at a time."""
EVERY = 3.0  # seconds from one page of a visitor to the next, where the first was drawn by then
LASTS = 60.0  # seconds for which a crowd goes on
PATIENCE = 900.0  # seconds for which a measurement is awaited: a crowd may hold it up
ALONE = 3
"""Measurements before anybody comes."""

_NUMBERS = count()


def crowd(url: str, visitors: int, seconds: float, *, measuring: bool) -> common.Results:
    """What a crowd waits for its pages, what a measurement takes beside it, and all errors."""
    end = time.monotonic() + seconds
    pages: list[float] = []
    measurements: list[float] = []
    errors: list[str] = []

    def look(number: int) -> None:
        time.sleep(EVERY * number / visitors)
        pages.extend(looked(url, number, end, errors))

    def measure() -> None:
        while measuring and time.monotonic() < end:
            measurements.append(measured(url, errors))

    innocent = Thread(target=measure)
    innocent.start()
    with ThreadPoolExecutor(visitors) as pool:
        list(pool.map(look, range(visitors)))
    innocent.join()
    return {
        "visitors": visitors,
        "measuring": measuring,
        "pages": pages,
        "measurements": measurements,
        "errors": errors,
    }


def looked(url: str, number: int, end: float, errors: list[str]) -> Iterator[float]:
    """Seconds of each page that a visitor opens until the end, in one session."""
    from tests.support.wire import visiting

    try:
        with visiting(url) as visitor:
            for turn in count(number):
                due = time.monotonic() + EVERY
                start = time.perf_counter()
                visitor.open(PAGES[turn % len(PAGES)])
                yield time.perf_counter() - start
                errors.extend(visitor.errors())
                time.sleep(max(0.0, due - time.monotonic()))
                if time.monotonic() >= end:
                    return
    except (OSError, RuntimeError, TimeoutError) as error:  # as a visitor would see it
        errors.append(f"{type(error).__name__}: {error}")


def measured(url: str, errors: list[str]) -> float:
    """Seconds from opening a page until a measurement of a new prompt is drawn on it."""
    from tests.support.wire import visiting

    start = time.perf_counter()
    with visiting(url) as visitor:
        prompt = f"Number {next(_NUMBERS)} of the day was"
        visitor.open(f"Depth?{urlencode({'prompt': prompt})}")
        visitor.press("Compute")
        visitor.wait(PATIENCE)
        errors.extend(visitor.errors())
        if not any(visitor.elements("plotly_chart")):
            errors.append("no result was shown")
    return time.perf_counter() - start


def collect(quick: bool) -> common.Results:
    """Crowds of every size, idle and measuring."""
    machine = common.this_machine()
    crowds: list[common.Results] = []
    errors: list[str] = []
    with served() as app:
        measured(app.url, errors)  # loads the model
        alone = [measured(app.url, errors) for _ in range(1 if quick else ALONE)]
        crowd(app.url, 2, EVERY * len(PAGES), measuring=False)  # imports what pages need
        for visitors in (4,) if quick else SIZES:
            for measuring in (False, True):
                lasts = 4 if quick else LASTS
                crowds.append(crowd(app.url, visitors, lasts, measuring=measuring))
    return machine | {"alone": alone, "crowds": crowds, "errors": errors}


def summary(results: common.Results) -> common.Rows:
    """A row a crowd."""
    rows = []
    for found in results["crowds"]:
        pages = found["pages"]
        beside = "while nobody measures"
        said = f"median page {median(pages):.2f} s, p95 {np.percentile(pages, 95):.2f} s"
        if found["measuring"]:
            beside = "while one has prompts measured"
            took, alone = median(found["measurements"]), median(results["alone"])
            said += f"; a measurement {took:.1f} s, alone {alone:.1f}"
        who = f"{found['visitors']} visitors, each a stored page every {EVERY:.0f} s, {beside}"
        rows.append((who, f"{said}; {len(found['errors'])} errors"))
    return rows
