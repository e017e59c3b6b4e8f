"""A sweep as people run it: the command line in a process of its own, and what it prints."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SECONDS = 120
PROMPTS = 5
STEPS = (0, 128, 1000, 4000)
SWEEP = f"""
name = "places"
k = [4, 8]
[[models]]
suite = "mini-64"
steps = {list(STEPS)}
[[prompts]]
file = "prompts.txt"
"""


def lay_out(folder: Path, more: str = "", steps: Sequence[int] = STEPS) -> Path:
    """A sweep of the shipped checkpoints with a few prompts."""
    texts = [f"The number {i} is followed by" for i in range(PROMPTS)]
    (folder / "prompts.txt").write_text("\n".join(texts))
    path = folder / "places.toml"
    path.write_text(SWEEP.replace(str(list(STEPS)), str(list(steps))) + more)
    return path


def python(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """A Python of this environment."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def start(file: Path, store: Path, *options: str) -> subprocess.Popen[str]:
    """Run a sweep."""
    run = ("-m", "coupling_core", "sweep", "run", str(file), "--store", str(store), "--json")
    return python(*run, *options, env=os.environ | {"OMP_NUM_THREADS": "1"})


def ended(process: subprocess.Popen[str]) -> tuple[int, dict, str]:
    """Exit status, what it printed, and what it said on stderr."""
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, json.loads(out) if out.strip() else {}, err


def stored(store: Path) -> int:
    """How many results there are."""
    return len(list(store.glob("*.safetensors")))


def table(store: Path) -> str:
    """The scores."""
    (path,) = store.glob("sweeps/places-*/table.csv")
    return path.read_text()


def wait(until: Callable[[], bool], *watched: subprocess.Popen[str]) -> None:
    """Wait for something that the processes will bring about while they live."""
    end = time.monotonic() + SECONDS
    while not until():
        for process in watched:
            if process.poll() is not None:
                raise AssertionError(f"it ended: {process.communicate()}")
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
