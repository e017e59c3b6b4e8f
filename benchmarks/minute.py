"""The first minute in a browser: the first figure, a click on a map, a step of training.

The app is served from this checkout, and a headless Chromium opens stored results at 1280 by 720
pixels. The first figure of Start and of What if is timed from the address to the painted map, each
time by a new visitor; a click on Start until both matrices of the pair are drawn, and on What if
until the pair's own part of the page is there; a step of training from the press of the arrow key,
as the browser times it, until map, graph and paths of the step are painted. The server's first
visitor is told apart.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import common
from coupling_core.sources.suites import find_suite

if TYPE_CHECKING:
    from playwright.sync_api import Page

TRIES, QUICK_TRIES = 50, 2
WITHIN = {
    "first figure": 3.0,
    "click": 1.0,
    "training step": 0.4,
    "first figure of What if": 3.0,
    "click on What if": 1.0,
}
"""Seconds that each may take."""
WINDOW = {"width": 1280, "height": 720}
BLOCKS = 30
"""Of the model that Start shows."""

_PAINTED = """
new MutationObserver((_, watching) => {
  if (document.querySelector('.st-key-scores .hm image')) {
    watching.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
  }
}).observe(document, {childList: true, subtree: true});
"""
"""Notes when the frame with the map was there, in milliseconds since the address was opened: the
browser is busy then with what is below, and answers no question for a second."""
_CELL = """([key, row, column]) => {
  const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  const {xaxis, yaxis} = plot._fullLayout;
  const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
  return [area.x + xaxis.d2p(column - 1), area.y + yaxis.d2p(row - 1)];
}"""
_ALT = "document.querySelector(`.st-key-${key} .js-plotly-plot`)?.layout?.meta?.alt"
_MATRICES = f"""words => ['matrix-trained', 'matrix-untrained'].every(key =>
  {_ALT}?.includes(words))"""
_STEP = f"""words => ['scores', 'graph', 'paths'].every(key => {_ALT}?.includes(words))"""
_STEPPED = f"""words => {{
  const there = {_STEP};
  window.stepped = null;
  addEventListener('keydown', press => {{
    const look = () => there(words)
      ? setTimeout(() => {{ window.stepped = performance.now() - press.timeStamp; }})
      : requestAnimationFrame(look);
    look();
  }}, {{once: true, capture: true}});
}}"""
"""Notes how long after the next press of a key the figures of a step were there, in
milliseconds. Whoever presses from outside waits for a busy browser before the press, too."""
_AT_REST = "() => !document.querySelector('[data-testid=stStatusWidget]')"


def first_figures(visitor: Callable[[], "Page"], url: str, tries: int) -> Iterator[float]:
    """Seconds from the address to the painted map, each of a new visitor."""
    for _ in range(tries):
        page = visitor()
        page.add_init_script(_PAINTED)
        page.goto(url)
        yield page.wait_for_function("window.painted").json_value() / 1000
        page.context.close()


def clicks(page: "Page", url: str, tries: int) -> Iterator[float]:
    """Seconds from a click on a cell until both matrices are those of its pair."""
    page.goto(url)
    page.wait_for_selector(".st-key-matrix-untrained .main-svg")
    page.wait_for_function(_AT_REST)
    for row, column, start in _clicked(page, "scores", tries):
        page.wait_for_function(
            _MATRICES, arg=f"block {row} in the singular basis of block {column},"
        )
        yield time.perf_counter() - start
        page.wait_for_function(_AT_REST)


def pair_clicks(page: "Page", url: str, tries: int) -> Iterator[float]:
    """Seconds from a click on a map of effects until the page tells of its pair."""
    page.goto(f"{url}/What_if")
    page.wait_for_selector(".st-key-exchange .main-svg")
    page.wait_for_function(_AT_REST)
    page.locator(".st-key-effects").scroll_into_view_if_needed()
    for row, column, start in _clicked(page, "effects", tries):
        first, second = sorted((row, column))
        page.get_by_text(f"Blocks {first} and {second} interchanged").wait_for()
        yield time.perf_counter() - start
        page.wait_for_function(_AT_REST)


def _clicked(page: "Page", key: str, tries: int) -> Iterator[tuple[int, int, float]]:
    """Cells of a map, each clicked a moment ago: row, column and when that was."""
    draw = random.Random(0)  # nosec B311 - the same clicks in every run
    for _ in range(tries):
        row, column = draw.sample(range(1, BLOCKS + 1), 2)
        x, y = page.evaluate(_CELL, [key, row, column])
        page.mouse.move(x, y)
        page.wait_for_timeout(100)  # as a hand does; plotly looks where it is once in 50 ms
        start = time.perf_counter()
        page.mouse.click(x, y)
        yield row, column, start


def steps(page: "Page", url: str, tries: int) -> Iterator[float]:
    """Seconds from a press of an arrow key until all maps of the step are painted."""
    known = find_suite("mini-64").steps
    page.goto(f"{url}/Training")
    page.wait_for_selector(".st-key-paths .main-svg")
    page.wait_for_function(_STEP, arg=f"@step{known[0]} ")
    at = 0
    for number in range(tries):
        there = number // (len(known) - 1) % 2 == 0
        at += 1 if there else -1
        page.wait_for_function(_AT_REST)
        slider = page.get_by_role("slider", name="Training step")
        page.evaluate(_STEPPED, f"@step{known[at]} ")
        slider.press("ArrowRight" if there else "ArrowLeft")
        yield page.wait_for_function("window.stepped").json_value() / 1000


def collect(quick: bool) -> common.Results | None:
    """All of them; None where there is no browser."""
    tries = QUICK_TRIES if quick else TRIES
    machine = common.this_machine()
    with common.chromium("the first minute") as browser, tempfile.TemporaryDirectory() as name:
        if browser is None:
            return None
        from tests.support.driving import serving

        def visitor() -> "Page":
            return browser.new_context(viewport=WINDOW).new_page()

        folder = Path(name)
        with serving(folder / "store", folder / "log.txt") as app:
            first, *figures = first_figures(visitor, app.url, tries + 1)
            _, *what_if = first_figures(visitor, f"{app.url}/What_if", tries + 1)
            found = {
                "first figure": figures,
                "click": list(clicks(visitor(), app.url, tries)),
                "training step": list(steps(visitor(), app.url, tries)),
                "first figure of What if": what_if,
                "click on What if": list(pair_clicks(visitor(), app.url, tries)),
            }
    return machine | {"first_visit": first, "seconds": found}


def summary(results: common.Results) -> common.Rows:
    """A row each, with how many tries took longer than they may."""
    rows = []
    for what, seconds in results["seconds"].items():
        late = sum(one > WITHIN[what] for one in seconds)
        said = (
            f"median {median(seconds):.2f} s, p95 {np.percentile(seconds, 95):.2f} s, longest "
            f"{max(seconds):.2f} s; {late} of {len(seconds)} took more than {WITHIN[what]:g} s"
        )
        rows.append((f"{what} in Chromium", said))
    return rows
