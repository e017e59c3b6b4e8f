"""Ctrl-C at any moment: one line, exit status 130, and no process is left."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from sweep_places import lay_out, python

DEPTH = "depth --model coupling-explorer/mini-64 --revision step0 --prompt The --store"


def interrupted(command: list[str], after: float) -> tuple[int, list[str], bool]:
    """Status, lines on stderr, and whether anything of it is left, as a terminal ends it."""
    process = python("-m", "coupling_core", *command, start_new_session=True)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    try:
        _, told = process.communicate(timeout=60)
        left = [one for one in psutil.process_iter() if _session(one.pid) == process.pid]
        _, alive = psutil.wait_procs(left, timeout=10)
    finally:
        process.kill()
    return process.returncode, [line for line in told.splitlines() if line.strip()], bool(alive)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def is_clean(status: int, lines: list[str]) -> bool:
    """A shell shows 130 for both: a process that says so, and one that died of the signal."""
    told = [line for line in lines if not line[:1].isdigit()]  # those say how far it was
    if status == 0:
        return True  # it was done before
    return status in (130, -signal.SIGINT) and len(told) == 1 and "stopped" in told[0]


def stop_again_and_again(command: list[str], whole: float, times: int, folder: Path) -> None:
    """At any moment of the seconds that it takes."""
    chance = random.Random(0)
    for number in range(times):
        # The first tenth of a second is Python's own, before anything of ours.
        after = chance.uniform(0.1, whole)
        status, lines, left = interrupted([*command, str(folder / str(number))], after)
        assert is_clean(status, lines), (after, status, lines)
        assert not left, after


@pytest.mark.full
def test_a_measurement_that_is_stopped_says_so_in_a_line(tmp_path: Path) -> None:
    stop_again_and_again(DEPTH.split(), 0.9, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "times"), [("a measurement", 48), ("a sweep", 8)])
def test_it_may_be_stopped_at_any_moment(what: str, times: int, tmp_path: Path) -> None:
    sweep = ["sweep", "run", str(lay_out(tmp_path, steps=[0])), "--workers", "1", "--store"]
    command = sweep if what == "a sweep" else DEPTH.split()
    began = time.monotonic()
    assert python("-m", "coupling_core", *command, str(tmp_path / "whole")).wait(600) == 0
    stop_again_and_again(command, time.monotonic() - began, times, tmp_path)
