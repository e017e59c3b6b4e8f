"""What many prompts of one model take as one job, against one process and against a job for each.

The same prompts, of which none is stored, round after round in three ways, in turn:

- one job: one fresh `coupling depth --prompts`, as people run it
- one process: the same in one process, one prompt after the other, with all threads of the machine
- a job each: a fresh `coupling depth --prompt` for every prompt

The third takes minutes and is the same work again and again: a part of the prompts is run, and the
rest is taken to last as long. The second is the same command where no processes beside it may
begin.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import common
from coupling_core.base.cores import cores
from coupling_core.base.records import DEFAULT_MODEL
from coupling_core.engine.loading import prepare

PROMPTS, QUICK_PROMPTS = 40, 2
EACH, QUICK_EACH = 8, 1
"""Prompts of those that are run with a command each."""
ROUNDS, QUICK_ROUNDS = 3, 1
QUICK_MODEL = "coupling-explorer/mini-64"
WAYS = ("one job", "one process", "a job each")
_ALONE = (
    "from coupling_core.measuring import many\n"
    "many.cores = lambda: 1\n"
    "from coupling_core.cli import main\n"
    "main()\n"
)
"""The command, in which this process measures by itself."""

Sample = tuple[float, float]
"""Wall and CPU seconds."""


def prompts(count: int) -> list[str]:
    """Short prompts of like length that differ."""
    return [f"Number {number} is followed by the number" for number in range(100, 100 + count)]


def run(program: tuple[str, ...], asked: tuple[str, ...], model: str, folder: Path) -> Sample:
    """Run one fresh command whose answers are not stored.

    Raises:
        RuntimeError: where it does not measure.
    """
    with tempfile.TemporaryDirectory(dir=folder) as store, tempfile.TemporaryFile() as said:
        command = [sys.executable, *program, "depth", "--model", model, *asked, "--json", "-q"]
        environment = {**os.environ, "PYTHONPATH": str(common.ROOT)}
        start = time.perf_counter()
        running = subprocess.Popen(
            [*command, "--store", store], env=environment, stdout=said, cwd=common.ROOT
        )
        _, status, used = os.wait4(running.pid, 0)  # with the processes that it waited for
        taken = time.perf_counter() - start
        said.seek(0)
        told = json.loads(said.read() or "{}")
    if status or told["stored"]:
        raise RuntimeError(f"the command did not measure: {told}")
    return taken, used.ru_utime + used.ru_stime


def ways(model: str, count: int, each: int, folder: Path) -> dict[str, Callable[[], Sample]]:
    """The three ways, each of which runs once and tells what all prompts take."""
    texts = prompts(count)
    listed = folder / "prompts.txt"
    listed.write_text("\n".join(texts))
    many = ("--prompts", str(listed))

    def one_by_one() -> Sample:
        taken = [run(("-m", "coupling_core"), ("--prompt", x), model, folder) for x in texts[:each]]
        wall, cpu = (sum(column) * count / each for column in zip(*taken, strict=True))
        return wall, cpu

    return {
        "one job": lambda: run(("-m", "coupling_core"), many, model, folder),
        "one process": lambda: run(("-c", _ALONE), many, model, folder),
        "a job each": one_by_one,
    }


def collect(quick: bool) -> common.Results:
    """All three ways in turn."""
    model = QUICK_MODEL if quick else DEFAULT_MODEL
    count, each = (QUICK_PROMPTS, QUICK_EACH) if quick else (PROMPTS, EACH)
    prepare(DEFAULT_MODEL)
    samples: dict[str, list[Sample]] = {}
    with tempfile.TemporaryDirectory() as name:
        found = ways(model, count, each, Path(name))
        run(("-m", "coupling_core"), ("--prompt", "warm up"), model, Path(name))
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for way, go in found.items():
                samples.setdefault(way, []).append(go())
    return {
        **common.this_machine(),
        "prompts": count,
        "run": each,
        "cores": cores(),
        "ways": {way: common.medians(of) for way, of in samples.items()},
    }


def summary(results: common.Results) -> common.Rows:
    """One job, and how many times as long the others take."""
    of, on = results["ways"], results["gemm"]["instructions"]
    job, others = of["one job"]["wall"], [of[way]["wall"] for way in WAYS[1:]]
    process, each = (other / job for other in others)
    part = f", of which {results['run']} were run" * (results["run"] < results["prompts"])
    return [
        (
            f"{results['prompts']} prompts of one model as one job, K = 50, "
            f"{results['cores']} cores",
            f"{job:.0f} s; in one process {process:.2f} times as long ({others[0]:.0f} s), with a "
            f"command each{part}, {each:.1f} times ({others[1]:.0f} s); {on}",
        )
    ]
