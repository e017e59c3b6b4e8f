"""The Training page: how soon a step shows, what many of them cost, and a prompt of one's own.

The app is served from this checkout, on an empty store beside the results that ship, and a headless
Chromium looks at it. A step shows once its score map, graph and paths are on the screen (`maps`),
and after them the curves mark it (`figures`). The slider goes over all steps of the smallest run
again and again; memory is looked at after garbage is collected. Then a prompt of one's own is
measured at all steps, from the page and on the command line, each in a process that did nothing
before.
"""

import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks import common
from coupling_core.sources.suites import find_suite

SUITE = "mini-64"
MOVES, QUICK_MOVES = 200, 5
PROMPTS = ("The ship left the harbour before", "In the evening they spoke of")
WITHIN = 600_000  # milliseconds
_MOVE = """(input, [index, step, place]) => new Promise(done => {
    const start = performance.now(), seen = {};
    const plot = key => document.querySelector(`.st-key-${key} .js-plotly-plot`)?.layout;
    const isOf = key => plot(key)?.meta?.alt.includes(`@step${step} `);
    const marks = key => plot(key)?.shapes?.[0]?.x0 === place;
    const painted = name => requestAnimationFrame(() => requestAnimationFrame(() => {
        seen[name] ??= performance.now() - start;
        if (seen.maps && seen.figures) done(seen);
    }));
    const look = () => {
        const maps = ["scores", "graph", "paths"].every(isOf);
        const figures = maps && ["corrected", "alignment"].every(marks);
        if (maps) painted("maps");
        if (figures) painted("figures"); else requestAnimationFrame(look);
    };
    input.value = index;
    input.dispatchEvent(new Event("input"));
    input.dispatchEvent(new Event("change"));
    look();
})"""


def slider(page: Any, moves: int) -> list[common.Results]:
    """Milliseconds of each move, over all steps again and again."""
    from coupling_core.figures.training import place

    steps = find_suite(SUITE).steps
    handle = page.get_by_role("slider", name="Training step")
    order = islice(cycle(enumerate(steps)), moves)
    return [
        {"step": step} | handle.evaluate(_MOVE, [index, step, float(place([step])[0])])
        for index, step in order
    ]


def memory(page: Any, server: psutil.Process) -> common.Results:
    """What browser and server hold: bytes, and elements of the page."""
    client = page.context.new_cdp_session(page)
    client.send("HeapProfiler.collectGarbage")
    client.send("Performance.enable")
    found = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
    client.detach()
    return {
        "browser": int(found["JSHeapUsedSize"]),
        "nodes": int(found["Nodes"]),
        "server": server.memory_info().rss,
    }


def on_the_page(browser: Any, url: str, server: psutil.Process, moves: int) -> common.Results:
    """The slider's moves, and memory before and after them."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.goto(f"{url}/Training?step=4000")
    page.wait_for_selector(".st-key-alignment .main-svg")
    slider(page, len(find_suite(SUITE).steps))  # warm-up
    page.wait_for_timeout(1000)
    before = memory(page, server)
    found = slider(page, moves)
    page.wait_for_timeout(1000)
    after = memory(page, server)
    page.close()
    return {"moves": found, "before": before, "after": after}


def own_prompt(browser: Any, url: str) -> float:
    """Seconds from the button to the last step, through the page."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(WITHIN)
    page.goto(f"{url}/Training?prompt={PROMPTS[0].replace(' ', '+')}")
    button = page.get_by_role("button", name="Compute all")
    button.click()
    start = time.perf_counter()
    page.wait_for_selector(".st-key-paths .main-svg")
    seconds = time.perf_counter() - start
    page.close()
    return seconds


def on_the_command_line(store: Path) -> float:
    """Seconds of the whole command, in a fresh process on an empty store."""
    asked = ["training", "--suite", SUITE, "--prompt", PROMPTS[1], "--store", str(store)]
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "coupling_core", *asked],
        cwd=common.ROOT,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - start


def collect(quick: bool) -> common.Results | None:
    """All of it; None where there is no browser."""
    with common.chromium("the Training page") as browser, tempfile.TemporaryDirectory() as name:
        if browser is None:
            return None
        from tests.support.driving import serving

        folder = Path(name)
        command_line = on_the_command_line(folder / "other")
        with serving(folder / "store", folder / "log.txt") as app:
            own = own_prompt(browser, app.url)
            found = on_the_page(
                browser, app.url, psutil.Process(app.pid), QUICK_MOVES if quick else MOVES
            )
    return {
        **common.this_machine(),
        "steps": len(find_suite(SUITE).steps),
        "own": {"page": own, "command line": command_line},
        **found,
    }


def summary(results: common.Results) -> common.Rows:
    """The slider, memory and a prompt of one's own."""
    moves = results["moves"]
    maps, figures = ([move[name] for move in moves] for name in ("maps", "figures"))
    before, after, own = results["before"], results["after"], results["own"]
    grown = {name: (after[name] - before[name]) / 2**20 for name in ("browser", "server")}
    return [
        (
            f"a step change on the Training page, {len(moves)} moves over {results['steps']} "
            "stored steps",
            f"maps, graph and paths {median(maps):.0f} ms (at most {max(maps):.0f}), all figures "
            f"{median(figures):.0f} ms (at most {max(figures):.0f})",
        ),
        (
            "memory over these moves",
            f"browser {grown['browser']:+.1f} MiB of {before['browser'] / 2**20:.0f}, "
            f"{after['nodes'] - before['nodes']:+d} of {before['nodes']} nodes; server "
            f"{grown['server']:+.1f} MiB of {before['server'] / 2**20:.0f}",
        ),
        (
            f"a prompt of one's own at all {results['steps']} steps of the smallest run",
            f"{own['page']:.1f} s on the page, {own['command line']:.1f} s on the command line, "
            "both with the first import of torch",
        ),
    ]
