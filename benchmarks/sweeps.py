"""What a second worker brings, what giving out work costs, and how long a large sweep is planned.

The same sweep runs on one worker and on two, with one thread each, in turns. Every worker has met
every model before, on other prompts: that it imports torch and loads a model is not what is
compared.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import common

if TYPE_CHECKING:
    from coupling_core.experiments.sweeps import Plan, State

PROMPTS, WARM_UP, REPEATS = 8, 2, 3
STEPS = (0, 128, 1000, 4000)
PLANNED = 1000, 100
"""Prompts and models of the sweep that is planned only."""
_SWEEP = """
name = "bench"
k = [8, 50]
{models}
[[prompts]]
file = "{prompts}"
"""
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
_MINI = '[[models]]\nsuite = "mini-64"\nsteps = {steps}\n'
_LARGE = '[[models]]\nmodel = "smollm2-135m"\n'


def plan(folder: Path, name: str, models: str, texts: list[str]) -> "Plan":
    """A sweep of these models and prompts."""
    from coupling_core.experiments import sweeps

    (folder / f"{name}.txt").write_text("\n".join(texts))
    path = folder / f"{name}.toml"
    path.write_text(_SWEEP.format(models=models, prompts=f"{name}.txt"))
    return sweeps.make(sweeps.read(path))


def texts(count: int, start: int) -> list[str]:
    """Prompts of like length that differ."""
    return [f"Number {start + i} is followed by the number" for i in range(count)]


def run(folder: Path, workers: int, models: str, count: int, turn: int) -> "State":
    """Run the sweep in a store of its own, and give how it ended."""
    from coupling_core import Store
    from coupling_core.experiments import sweeps
    from coupling_core.experiments.sweeps import clusters

    store = Store(folder / f"store-{workers}-{turn}")
    with common.threads(workers), clusters.local(workers) as client:
        # Each worker has to meet each model: twice as many as there are workers.
        sweeps.run(plan(folder, "warm", models, texts(WARM_UP * workers, 1000)), store, client)
        return sweeps.run(plan(folder, "bench", models, texts(count, 2000)), store, client)


def planned(folder: Path, quick: bool) -> common.Results:
    """Seconds and memory of the command that plans a large sweep and runs none of it."""
    prompts, twins = (20, 5) if quick else PLANNED
    seeds = ", ".join(map(str, range(twins)))
    models = _LARGE + f"trained = false\nuntrained = [{seeds}]\n"
    made = plan(folder, "large", models, texts(prompts, 0))
    command = [sys.executable, "-m", "coupling_core", "sweep", "run", "large.toml", "--dry-run"]
    start = time.perf_counter()
    # A small process starts it: a child's peak is at least that of whoever started it.
    told = subprocess.run(
        [sys.executable, "-c", _PEAK, *command], cwd=folder, capture_output=True, text=True
    )
    if told.returncode:
        raise RuntimeError(f"{command} failed:\n{told.stderr}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "requests": len(made),
        "seconds": time.perf_counter() - start,
        "peak_bytes": int(told.stdout.splitlines()[-1]) * unit,
    }


def collect(quick: bool) -> common.Results:
    """Throughput of one and two workers, overhead, and planning."""
    models = _MINI.format(steps=list(STEPS[:1] if quick else STEPS)) + _LARGE * (not quick)
    count, repeats = (3, 1) if quick else (PROMPTS, REPEATS)
    found: dict[str, list[common.Results]] = {}
    machine = common.this_machine()
    with tempfile.TemporaryDirectory() as name:
        for turn in range(repeats):
            for workers in (1, 2):
                state = run(Path(name), workers, models, count, turn)
                found.setdefault(str(workers), []).append(
                    {
                        "wall": state.updated - state.started,
                        "busy": state.busy,
                        "computing": state.seconds,
                        "done": state.done,
                        "failed": state.failed,
                    }
                )
        large = planned(Path(name), quick)
    return machine | {"runs": found, "planned": large}


def summary(results: common.Results) -> common.Rows:
    """Ratios of medians, the share of overhead, and the planning."""
    one, two = results["runs"]["1"], results["runs"]["2"]
    large = results["planned"]
    slow, fast = (median(run["wall"] for run in runs) for runs in (one, two))
    idle = median((run["wall"] - run["busy"]) / run["computing"] for run in one)
    return [
        (
            f"a sweep of {one[0]['done']} measurements on two workers, one thread each",
            f"{slow / fast:.2f} times as fast as on one ({fast:.1f} and {slow:.1f} s)",
        ),
        (
            "giving out work and taking in what came of it, one worker",
            f"{100 * idle:.1f} % of the computing",
        ),
        (
            f"planning a sweep of {large['requests']:,} measurements",
            f"{large['seconds']:.1f} s, {large['peak_bytes'] / 2**20:.0f} MiB",
        ),
    ]
