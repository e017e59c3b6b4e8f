"""What many prompts of one model take as one job, against one process and against a job for each.

The same prompts, of which none is stored, round after round in three ways, in turn:

- one job: one fresh `coupling depth --prompts`, as people run it
- one process: the same where no processes beside it may begin, with all threads of the machine
- a job each: a fresh `coupling depth --prompt` for a part of them, scaled to all
"""

import json
import os
import subprocess
import sys
import tempfile
import time
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
_COMMAND = ("-m", "coupling_core")
_ALONE = (
    "-c",
    "from coupling_core.measuring import many\n"
    "many.cores = lambda: 1\n"
    "from coupling_core.cli import main\n"
    "main()\n",
)
"""The command, in which this process measures by itself."""

Sample = tuple[float, float]
"""Wall and CPU seconds."""


def run(program: tuple[str, str], asked: tuple[str, str], model: str) -> Sample:
    """Run one fresh command whose answers are not stored."""
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryFile() as said:
        command = [sys.executable, *program, "depth", "--model", model, *asked, "--json", "-q"]
        start = time.perf_counter()
        running = subprocess.Popen([*command, "--store", store], stdout=said, cwd=common.ROOT)
        _, status, used = os.wait4(running.pid, 0)  # with the processes that it waited for
        taken = time.perf_counter() - start
        said.seek(0)
        told = json.loads(said.read() or "{}")
    if status or told["stored"]:
        raise RuntimeError(f"the command did not measure: {told}")
    return taken, used.ru_utime + used.ru_stime


def collect(quick: bool) -> common.Results:
    """All three ways in turn, each of which tells what all prompts take."""
    model = QUICK_MODEL if quick else DEFAULT_MODEL
    count, each = (QUICK_PROMPTS, QUICK_EACH) if quick else (PROMPTS, EACH)
    prompts = [f"Number {number} is followed by the number" for number in range(100, 100 + count)]
    prepare(DEFAULT_MODEL)

    def one_by_one() -> Sample:
        taken = [run(_COMMAND, ("--prompt", prompt), model) for prompt in prompts[:each]]
        wall, cpu = (sum(column) * count / each for column in zip(*taken, strict=True))
        return wall, cpu

    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "prompts.txt"
        listed.write_text("\n".join(prompts))
        many = ("--prompts", str(listed))
        run(_COMMAND, ("--prompt", "warm up"), model)
        samples: dict[str, list[Sample]] = {"one job": [], "one process": [], "a job each": []}
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            samples["one job"].append(run(_COMMAND, many, model))
            samples["one process"].append(run(_ALONE, many, model))
            samples["a job each"].append(one_by_one())
    return {
        **common.this_machine(),
        "prompts": count,
        "run": each,
        "cores": cores(),
        "ways": {way: common.medians(of) for way, of in samples.items()},
    }


def summary(results: common.Results) -> common.Rows:
    """One job, and how many times as long the others take."""
    job, process, each = (
        results["ways"][way]["wall"] for way in ("one job", "one process", "a job each")
    )
    part = f", of which {results['run']} were run" * (results["run"] < results["prompts"])
    return [
        (
            f"{results['prompts']} prompts of one model as one job, K = 50, "
            f"{results['cores']} cores",
            f"{job:.0f} s; in one process {process / job:.2f} times as long ({process:.0f} s), "
            f"with a command each{part}, {each / job:.1f} times ({each:.0f} s); "
            f"{results['gemm']['instructions']}",
        )
    ]
