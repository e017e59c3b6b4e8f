"""What a page promises of the most expensive measurement that a demo takes on, and what it takes.

For every kind, over two blocks and over all, and for two of a demo's models (one of them reads in
both directions): the longest prompt that the limits of a demo let through, measured in a fresh
process on one thread. Seconds are CPU time, beside large products which tell the machine's rates;
memory is what the process takes of its own, without the weights.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.base.kinds import kind_of
from coupling_core.base.settings import DEMO
from coupling_core.engine.loading import load
from coupling_core.measuring.cost import Rates, best, predict_seconds, product_rates
from coupling_core.measuring.memory import estimate_memory
from coupling_core.measuring.probe import Probe, probe
from coupling_core.sources.resolved import resolve

WIDE_K = 256
"""Where K is not limited, with a prompt so short that it is let through."""
LITTLE = 2 * 10**8
"""Bytes that no machine lacks."""
QUICK = {"longest_prompt": 4, "longest_seconds": 2}
RATES = Rates(1e11, 1e11)
"""Operations a second of the machine for which prompts are chosen, the same on every machine."""
SAMPLING = 0.002  # seconds between two looks at the memory

MODELS = {"smollm2-135m": (15, 16), "minilm-l6": (3, 4)}
"""With two of their blocks."""
KINDS = ("depth", "trajectory", "self", "fixed-input", "fixed-output")


def cases(quick: bool) -> list[dict[str, Any]]:
    """What requests have besides their prompts, and how long these are."""
    limits = QUICK if quick else DEMO
    found = []
    for model, (block, other) in list(MODELS.items())[: 1 if quick else None]:
        what = probe(resolve(Request("-", model=model)))
        for kind in KINDS:
            of = kind_of(kind)
            token = {"token": 1} if kind == "fixed-input" else {}
            pair = {"block": block, "other_block": other}
            for blocks in ({}, pair) if of.means else ({},):
                for k in ({"k": DEMO["largest_k"]}, {"k": WIDE_K}) if of.has_k else ({},):
                    asked = {"model": model, "kind": kind} | token | blocks | k
                    lengths = range(limits["longest_prompt"], 1, -1)
                    most = limits["longest_seconds"]
                    fit = (n for n in lengths if _seconds(asked, n, what, RATES) <= most)
                    found.append({"asked": asked, "n": next(fit, 1)})
    return found


def _request(asked: dict[str, Any], n: int) -> Request:
    return Request(tuple(range(1000, 1000 + n)), **asked)


def _seconds(asked: dict[str, Any], n: int, found: Probe, rates: Rates) -> float:
    return predict_seconds(_request(asked, n), found, n, rates) or 0


def run(asked: dict[str, Any], n: int) -> common.Results:
    """One measurement in this process, against what is said of it before."""
    request = _request(asked, n)
    resolved = resolve(request)
    found = probe(resolved)
    with common.threads(1), watching() as peak:
        memory = estimate_memory(request, found, n, 10**12)
        before = peak()
        load(resolved, "cpu")
        if peak() - before >= memory.weights:  # they are read, and not mapped
            before += memory.weights
        measure(Request((1, 2), model=request.model), device="cpu")  # warm-up
        rates = [product_rates(time.process_time)]
        _, cpu = common.timed(lambda: measure(request, device="cpu"))
        rates += [product_rates(time.process_time)]
    return {
        "rates": best(rates),
        "seconds": cpu,
        "work": peak() - before,
        "estimated": memory.work,
    }


@contextmanager
def watching() -> Iterator[Callable[[], int]]:
    """Watch this process's memory; what it gives tells the peak of what no file holds, in bytes."""
    seen, done = [_anonymous()], threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLING):
            seen.append(_anonymous())

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        yield lambda: max(seen)
    finally:
        seen.append(_anonymous())
        done.set()
        watcher.join()


def _anonymous() -> int:
    held = psutil.Process().memory_info()
    return held.rss - held.shared


def collect(quick: bool) -> common.Results:
    """Each case in a process of its own."""
    if not hasattr(psutil.Process().memory_info(), "shared"):
        raise common.LackingError("this system does not tell a process's own memory")
    points = []
    for case in cases(quick):
        command = [sys.executable, "-m", "benchmarks.limits", json.dumps(case)]
        done = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{case} failed:\n{done.stderr}")
        points.append({"case": case} | json.loads(done.stdout.splitlines()[-1]))
    rates = best(point["rates"] for point in points)  # other programs can only make them less
    for point in points:
        found = probe(resolve(_request(**point["case"])))
        point["predicted"] = _seconds(**point["case"], found=found, rates=rates)
    return {"rates": rates, "points": points}


def summary(results: common.Results) -> common.Rows:
    """The worst of both ratios; of memory too small to matter, how much too much is said."""
    points = results["points"]
    times = [point["predicted"] / point["seconds"] for point in points]
    large = [point["estimated"] / point["work"] for point in points if point["work"] > LITTLE]
    little = [point["estimated"] - point["work"] for point in points if point["work"] <= LITTLE]
    more = f"; {max(little) / 1e6:.0f} MB too much at most where they take less" if little else ""
    return [
        (
            "seconds said of the most expensive measurements that a demo takes on",
            f"{min(times):.2f} to {max(times):.2f} times what they take, over {len(times)} of "
            "them (CPU time, one thread)",
        ),
        (
            "memory said of them",
            f"{min(large):.2f} to {max(large):.2f} times what they take, over the {len(large)} "
            f"that take {LITTLE // 10**6} MB or more{more}",
        ),
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(**json.loads(sys.argv[1]))) + "\n")
