"""The first minute in a browser: the first figure, a click on a map, a step of training.

A headless Chromium opens stored results at 1280 by 720 pixels. The first figure is timed from the
address to the painted map, each time by a new visitor (the server's first is told apart); a click
until both matrices of the pair are drawn; a step of training from the press of the arrow key until
map, graph and paths of the step are painted.
"""

import random
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import common
from benchmarks.served import chromium, served
from coupling_core.sources.suites import find_suite

if TYPE_CHECKING:
    from playwright.sync_api import Page

TRIES, QUICK_TRIES = 50, 2
WITHIN = {
    "first figure": 3.0,
    "click": 1.0,
    "training step": 0.4,
}
"""Seconds that each may take."""
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
_CELL = """([row, column]) => {
  const plot = document.querySelector('.st-key-scores .js-plotly-plot');
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
    draw = random.Random(0)  # nosec B311 - the same clicks in every run
    page.goto(url)
    page.wait_for_selector(".st-key-matrix-untrained .main-svg")
    for _ in range(tries):
        page.wait_for_function(_AT_REST)
        row, column = draw.sample(range(1, BLOCKS + 1), 2)
        x, y = page.evaluate(_CELL, [row, column])
        page.mouse.move(x, y)
        page.wait_for_timeout(100)  # as a hand does; plotly looks where it is once in 50 ms
        start = time.perf_counter()
        page.mouse.click(x, y)
        page.wait_for_function(
            _MATRICES, arg=f"block {row} in the singular basis of block {column},"
        )
        yield time.perf_counter() - start


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


def collect(quick: bool) -> common.Results:
    """All of them."""
    tries = QUICK_TRIES if quick else TRIES
    machine = common.this_machine()
    with chromium() as browser, served() as app:

        def visitor() -> "Page":
            return browser.new_context(viewport={"width": 1280, "height": 720}).new_page()

        first, *figures = first_figures(visitor, app.url, tries + 1)
        found = {
            "first figure": figures,
            "click": list(clicks(visitor(), app.url, tries)),
            "training step": list(steps(visitor(), app.url, tries)),
        }
    return machine | {"first_visit": first, "seconds": found}


def summary(results: common.Results) -> common.Rows:
    """A row each, with how many tries took longer than they may."""
    rows = []
    for what, limit in WITHIN.items():
        seconds = results["seconds"][what]
        late = sum(one > limit for one in seconds)
        said = (
            f"median {median(seconds):.2f} s, p95 {np.percentile(seconds, 95):.2f} s, longest "
            f"{max(seconds):.2f} s; {late} of {len(seconds)} took more than {limit:g} s"
        )
        rows.append((f"{what} in Chromium", said))
    return rows
