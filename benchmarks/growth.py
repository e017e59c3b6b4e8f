"""How the time of a whole measurement grows with tokens n, width d, blocks L, and K.

Exponents are slopes of least squares in the logarithms. Each point is a whole `measure`, model
loaded, on one thread; the points of a line are interleaved. n and K run over SmolLM2, d and L over
Llamas with random weights. Below an exponent of 1 what does not grow still dominates.
"""

from functools import partial

import numpy as np

from benchmarks import common
from coupling_core import Request, measure

ROUNDS = 3
TOKENS = 16
LINES: dict[str, tuple[int, ...]] = {
    "n": (10, 32, 64, 128, 256, 512, 1024),
    "K": (50, 100, 200),
    "d": (256, 512, 1024, 2048),
    "L": (4, 8, 16, 32),
}
QUICK: dict[str, tuple[int, ...]] = {"n": (4, 8), "K": (50, 60), "d": (64, 128), "L": (2, 4)}
WIDTH, BLOCKS = 256, 2
"""Of the random models in which the other of the two varies."""


def point(quick: bool, line: str, value: int) -> common.Run:
    """The measurement at one point of a line."""
    if line in ("d", "L"):
        shape = (value, BLOCKS) if line == "d" else (WIDTH, value)
        model, ids = common.llama(*shape), list(range(1, TOKENS + 1))
        return partial(measure, Request(tuple(ids)), model=model)
    model, ids = common.model_and_ids(quick, value if line == "n" else TOKENS)
    if quick:
        model = common.llama(64, BLOCKS)  # as wide as the largest K
    return partial(measure, Request(tuple(ids), k=value if line == "K" else 50), model=model)


def collect(quick: bool) -> common.Results:
    """Every line on one thread."""
    lines = {}
    for line, values in (QUICK if quick else LINES).items():
        with common.threads(1):
            runs = {str(value): point(quick, line, value) for value in values}
            times = common.interleaved(runs, 1 if quick else ROUNDS)
        seconds = [times[str(value)]["cpu"] for value in values]
        lines[line] = {
            "values": values,
            "wall": [times[str(value)]["wall"] for value in values],
            "cpu": seconds,
            "gemm": times["gemm"],
            "exponent": exponent(values, seconds),
            "last_exponent": exponent(values[-2:], seconds[-2:]),
        }
    return {"lines": lines}


def exponent(values: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of log(seconds) over log(values)."""
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


def summary(results: common.Results) -> common.Rows:
    """One row a line."""
    return [
        (
            f"CPU time of a measurement, {name} = {line['values'][0]} to {line['values'][-1]}",
            f"{line['cpu'][0]:.2f} to {line['cpu'][-1]:.2f} s, exponent {line['exponent']:.2f}, "
            f"{line['last_exponent']:.2f} over the last two; {common.peak_words(line['gemm'])}",
        )
        for name, line in results["lines"].items()
    ]
