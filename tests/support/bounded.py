"""A program that may do no harm: its seconds and its memory are bounded by the system."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What became of a program.

    Args:
        status: its exit status; negative for a signal.
        out: what it printed, with what it complained of.
        seconds: of the clock.
        peak: bytes of memory that it held at most.
    """

    status: int
    out: str
    seconds: float
    peak: int


def python(code: str, *, cwd: Path, seconds: float = 60, memory: int = 4 * 2**30) -> Ran:
    """Run Python in a process of its own.

    Args:
        code: what to run.
        cwd: where, and what stands for the user's home, store and cache.
        seconds: after which it is ended.
        memory: bytes of addresses that it may have.
    """
    own = {"HOME": cwd, "COUPLING_HOME": cwd / "home", "COUPLING_STORE": cwd / "store"}
    more = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryFile() as said:
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=cwd,
            env=os.environ | {name: str(path) for name, path in own.items()} | more,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        )
        status, usage = _wait(process.pid, start + seconds)
        process.returncode = status  # it is waited for here, for what it used
        said.seek(0)
        text = said.read(100_000).decode(errors="replace")
    return Ran(status, text, time.monotonic() - start, usage.ru_maxrss * 1024)


def coupling(*line: object, cwd: Path, seconds: float = 60, memory: int = 4 * 2**30) -> Ran:
    """Run a command line of the program, as `python` does."""
    words = ["coupling", *map(str, line)]
    code = f"import sys; sys.argv = {words!r}; from coupling_core.cli import main; main()"
    return python(code, cwd=cwd, seconds=seconds, memory=memory)


def _wait(pid: int, end: float) -> tuple[int, "resource.struct_rusage"]:
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage
        if time.monotonic() > end:
            os.kill(pid, 9)
        time.sleep(0.02)
