"""What a page promises of the most expensive measurement that a demo takes on, and what it takes.

For every kind, over two blocks and over all, and for two of a demo's models (a causal one and one
that reads in both directions): the longest prompt that the limits of a demo let through, measured
in a fresh process on one thread. Seconds are CPU time, beside large products which tell the
machine's rates; memory is what the process takes of its own from before the model is loaded,
without the weights, which are a mapped file or are read into it.
"""

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks import common
from coupling_core import Request, measure
from coupling_core.base.kinds import kind_of
from coupling_core.base.settings import DEMO
from coupling_core.engine.loading import load
from coupling_core.measuring.cost import Rates, best, predict_seconds, product_rates
from coupling_core.measuring.forecast import Probe
from coupling_core.measuring.memory import estimate_memory
from coupling_core.measuring.probe import probe
from coupling_core.sources.resolved import resolve

WIDE_K = 256
"""Where K is not limited, with a prompt so short that it is let through."""
LITTLE = 2 * 10**8
"""Bytes that no machine lacks."""
QUICK = {"longest": 4, "seconds": 2}
RATES = Rates(1e11, 1e11)
"""Operations a second of the machine for which prompts are chosen, the same on every machine."""

MODELS = {"smollm2-135m": (15, 16), "minilm-l6": (3, 4)}
"""With two of their blocks."""
KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "depth"},
    {"kind": "trajectory"},
    *({"kind": kind} for kind in ("self", "fixed-input", "fixed-output")),
)


def cases(quick: bool) -> list[dict[str, Any]]:
    """Requests without their prompts, and how long that is."""
    longest = QUICK["longest"] if quick else DEMO["longest_prompt"]
    seconds = QUICK["seconds"] if quick else DEMO["longest_seconds"]
    found = []
    for model, (block, other) in list(MODELS.items())[: 1 if quick else None]:
        what = probe(resolve(Request("-", model=model)))
        for kind in KINDS:
            of = kind_of(kind["kind"])
            token = {"token": 1} if kind["kind"] == "fixed-input" else {}
            pair = {"block": block, "other_block": other}
            for blocks in ({}, pair) if of.means else ({},):
                for k in (DEMO["largest_k"], WIDE_K) if of.has_k else (None,):
                    asked = {"model": model} | kind | token | blocks | ({"k": k} if k else {})
                    n = _longest(Request("-", **asked), what, longest, seconds)
                    found.append(asked | {"n": n})
    return found


def _longest(request: Request, found: Probe, longest: int, seconds: float) -> int:
    """Tokens of the longest prompt that is let through; one token is always tried."""

    def fits(n: int) -> bool:
        return (predict_seconds(request, found, n, RATES) or 0) <= seconds

    return max((n for n in range(1, longest + 1) if fits(n)), default=1)


def run(case: dict[str, Any]) -> common.Results:
    """One measurement in this process, against what is said of it before."""
    asked = dict(case)
    n = asked.pop("n")
    request = Request(tuple(range(1000, 1000 + n)), **asked)
    resolved = resolve(request)
    found = probe(resolved)
    with common.threads(1), common.watching() as peak:
        memory = estimate_memory(request, found, n, 10**12)
        before = peak() or 0
        load(resolved, "cpu")
        if (peak() or 0) - before >= memory.weights:
            before += memory.weights
        measure(Request((1, 2), model=request.model), device="cpu")  # warm-up
        rates = [product_rates(time.process_time)]
        _, cpu = common.timed(lambda: measure(request, device="cpu"))
        rates += [product_rates(time.process_time)]
    return {
        "rates": best(rates),
        "seconds": cpu,
        "work": (peak() or 0) - before,
        "estimated": memory.work,
    }


def collect(quick: bool) -> common.Results:
    """Each case in a process of its own."""
    points = []
    for case in cases(quick):
        command = [sys.executable, "-m", "benchmarks.limits", json.dumps(case)]
        done = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{case} failed:\n{done.stderr}")
        points.append({"case": case} | json.loads(done.stdout.splitlines()[-1]))
    rates = best(point["rates"] for point in points)  # other programs can only make them less
    points = [one | {"predicted": _predicted(one, rates)} for one in points]
    return {"rates": rates, "points": points}


def _predicted(point: common.Results, rates: Rates) -> float | None:
    asked = dict(point["case"])
    n = asked.pop("n")
    request = Request(tuple(range(1000, 1000 + n)), **asked)
    return predict_seconds(request, probe(resolve(request)), n, rates)


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
    sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))) + "\n")
