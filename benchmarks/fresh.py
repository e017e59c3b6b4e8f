"""How long a fresh command takes that measures, besides measuring, now and before.

The same command runs in fresh processes, in turn: of this checkout, and of the commit before
start-up was looked into, taken out of the history beside it. Once with the weights in memory, as
after the first of several commands, and once with them on the disk alone, where the system lets go
of them. CPU seconds (user and system) are told beside wall seconds, which others on the machine
lengthen.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

from benchmarks import common
from coupling_core.base.records import DEFAULT_MODEL
from coupling_core.engine.loading import prepare

BEFORE = "d535a0a"
PROMPT = "The cat sat on the mat because it was"
ROUNDS, QUICK_ROUNDS = 7, 1
THREADS = 1

CLOCKS = ("wall", "cpu", "measuring")
Sample = tuple[float, float, float]
"""Wall and CPU seconds of a command, and those that it says it has measured for."""


def command(store: Path) -> list[str]:
    """What is run: a measurement of the default model at K = 50 whose result is not stored yet."""
    own = [sys.executable, "-m", "coupling_core", "depth", "--json"]
    return [*own, "--prompt", PROMPT, "--k", "50", "--store", str(store)]


def checkout(folder: Path) -> Path | None:
    """The code of the commit before; None where there is no history to take it from."""
    asked = ["git", "-C", str(common.ROOT), "archive", BEFORE, "coupling_core"]
    done = subprocess.run(asked, capture_output=True)
    if done.returncode:
        sys.stdout.write(f"the time before is left out: {done.stderr.decode().strip()}\n")
        return None
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def fresh(code: Path) -> Sample:
    """Run the command once, by the code of a folder."""
    threads = {"OMP_NUM_THREADS": str(THREADS)}
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryFile() as said:
        environment = {**os.environ, **threads, "PYTHONPATH": str(code)}
        start = time.perf_counter()
        running = subprocess.Popen(command(Path(store)), cwd=code, env=environment, stdout=said)
        _, status, used = os.wait4(running.pid, 0)
        taken = time.perf_counter() - start
        said.seek(0)
        told = json.loads(said.read() or "{}")
    if status or told["stored"]:
        raise RuntimeError(f"the command did not measure: {told}")
    return taken, used.ru_utime + used.ru_stime, told["seconds"]


def forget(folder: Path) -> bool:
    """Let the system drop the weights of a folder from memory; whether it can be told to."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def collect(quick: bool) -> common.Results:
    """Both checkouts in turn, with the weights in memory and without."""
    weights = prepare(DEFAULT_MODEL)
    samples: dict[str, list[Sample]] = {}
    with tempfile.TemporaryDirectory() as folder:
        before = checkout(Path(folder))
        codes = {"now": common.ROOT} | ({"before": before} if before else {})
        for code in codes.values():  # warms up the disk, and compiles to bytecode
            fresh(code)
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for name, code in codes.items():
                samples.setdefault(name, []).append(fresh(code))
                if forget(weights):
                    samples.setdefault(f"{name}, weights on disk", []).append(fresh(code))
    return {
        **common.this_machine(),
        "threads": THREADS,
        "before": BEFORE,
        "commands": {name: common.medians(of, CLOCKS) for name, of in samples.items()},
    }


def summary(results: common.Results) -> common.Rows:
    """Now and before, with the weights in memory and without."""
    found, on = results["commands"], results["gemm"]["instructions"]
    rows = []
    for where in ("", ", weights on disk"):
        told = {name: found[name + where] for name in ("now", "before") if name + where in found}
        if told:
            said = "; ".join(f"{name} {_said(of)}" for name, of in told.items())
            rows.append((f"a fresh `coupling depth`, K = 50, 1 thread{where}", f"{said}; {on}"))
    return rows


def _said(of: common.Results) -> str:
    return f"{of['wall']:.1f} s (CPU {of['cpu']:.1f} s), of it measuring {of['measuring']:.1f} s"
