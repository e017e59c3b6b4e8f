"""How soon a stored result is there: on the command line, and in the app's first paint.

The commands run in fresh processes, in turn; `python` does nothing and `torch` imports torch, which
a stored result does not need. The app is served from this checkout, and a headless Chromium opens
its start page in fresh contexts, until the first map is painted. Both read results that ship.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import common
from coupling_core import Request, Store
from coupling_core.base.records import DEFAULT_K

ROUNDS, QUICK_ROUNDS = 5, 1
MAP = ".js-plotly-plot .hm image"


def commands(store: Path) -> dict[str, list[str]]:
    """What is run, by name; the stored result is one of the default model that ships."""
    asked = {e.key: e.request for e in Store(store).entries() if e.read_only and e.request}
    key, request = next(
        (key, request)
        for key, request in asked.items()
        if request == Request(request.prompt, k=DEFAULT_K, k_view=request.k_view)
    )
    own = ["-m", "coupling_core"]
    where = ["--store", str(store)]
    return {
        "python": ["-c", "pass"],
        "torch": ["-c", "import torch"],
        "command line": [*own, "--help"],
        "stored result": [*own, "runs", "show", key, "--json", *where],
        "stored answer": [*own, "depth", "--prompt", str(request.prompt), "--json", *where],
    }


def processes(rounds: int) -> common.Results:
    """Median wall seconds of each command, after one run of each to warm up the disk."""
    seconds: dict[str, list[tuple[float]]] = {}
    with tempfile.TemporaryDirectory() as store:
        listed = commands(Path(store))
        for number in range(rounds + 1):
            for name, arguments in listed.items():
                start = time.perf_counter()
                said = subprocess.run(
                    [sys.executable, *arguments], cwd=common.ROOT, check=True, capture_output=True
                ).stdout
                taken = time.perf_counter() - start
                if name.startswith("stored") and not json.loads(said)["stored"]:
                    raise RuntimeError(f"{' '.join(arguments)} was computed, and not stored")
                if number:
                    seconds.setdefault(name, []).append((taken,))
    return {name: common.medians(walls, ("wall",)) for name, walls in seconds.items()}


def first_paint(rounds: int) -> common.Results | None:
    """Median seconds from the address to the first painted map, and to all of them."""
    seconds = []
    with common.chromium("first paint") as browser, tempfile.TemporaryDirectory() as folder:
        if browser is None:
            return None
        from tests.support.driving import serving

        with serving(Path(folder) / "store", Path(folder) / "log.txt") as app:
            for _ in range(rounds + 1):
                context = browser.new_context(viewport={"width": 1400, "height": 900})
                page = context.new_page()
                start = time.perf_counter()
                page.goto(app.url)
                page.wait_for_selector(MAP, state="attached")
                seconds.append(time.perf_counter() - start)
                context.close()
    return {"first_visit": seconds[0], "wall": median(seconds[1:]), "walls": seconds[1:]}


def collect(quick: bool) -> common.Results:
    """Commands and the app; the machine's own speed beside them."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return {
        **common.this_machine(rounds),
        "processes": processes(rounds),
        "first_paint": first_paint(rounds),
    }


def summary(results: common.Results) -> common.Rows:
    """The stored result on the command line and in the app."""
    found = {name: of["wall"] for name, of in results["processes"].items()}
    rows = [
        (
            "a stored result on the command line, fresh process",
            f"shown by key {found['stored result']:.2f} s, asked for by its prompt "
            f"{found['stored answer']:.2f} s (Python itself {found['python']:.2f} s, "
            f"importing torch {found['torch']:.2f} s)",
        )
    ]
    if (paint := results["first_paint"]) is not None:
        said = f"{paint['wall']:.2f} s, the server's first visitor {paint['first_visit']:.2f} s"
        rows.append(("first paint of the start page in Chromium", said))
    return rows
