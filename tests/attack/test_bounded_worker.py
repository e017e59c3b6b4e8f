"""A worker that is bounded while it works: memory, time, hangs, and how it leaves."""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import bombs
import hasty
import mortal
import psutil
import pytest
import tiny
from driving import serving
from waiting import PATIENCE, end_of, until

from coupling_core import ComputeError, Request
from coupling_core.base.settings import settings
from coupling_core.measuring import deaths
from coupling_core.measuring.worker import Worker, asking
from coupling_core.serving.jobs import Jobs
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full
linux = pytest.mark.skipif(sys.platform != "linux", reason="holds memory by Linux's limit")


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    folder = mortal.folder(tmp_path / "model", bombs.WEIGHTS)
    return Request("The cat sat", model=str(folder), k=4)


@pytest.fixture
def worker(monkeypatch):
    hasty.listen(monkeypatch)
    made = Worker(hasty.MODULES, grace=0.3)
    yield made
    made.close()


# --- memory


@linux
@pytest.mark.parametrize(
    "bomb", [bombs.by_numpy, pytest.param(bombs.by_python, marks=pytest.mark.slow)]
)
def test_a_bomb_of_memory_fails_in_words_and_the_worker_lives_on(worker, bomb):
    process = psutil.Process(worker.call(os.getpid))
    worker.call(partial(bombs.allow, 2**28))  # beside what it has
    began = process.memory_info().rss
    with pytest.raises(ComputeError, match="memory ran out"):
        worker.call(bomb)
    assert worker.call(os.getpid) == process.pid
    until(lambda: process.memory_info().rss < began + 2**26)  # given back once that was told


@linux
def test_a_thread_begins_where_no_memory_is_left(worker):
    """Python would wait for ever for one that has no room to begin, and libraries start some."""
    said: list[bool] = []
    threading.Thread(target=lambda: said.append(worker.call(bombs.by_threads)), daemon=True).start()
    assert until(lambda: said) == [True]


@linux
def test_a_measurement_is_bounded_anew_once_its_weights_are_mapped(worker, store, request_):
    told = {}

    def look(progress):
        told.setdefault(progress.note, progress)

    worker.measure(request_, store, device="cpu", progress=look, by=bombs.limits)
    loading, tracing = (int(note) for note in next(filter(None, told)).split())
    assert loading == pytest.approx(bombs.FREE + bombs.WEIGHTS, abs=2**22)
    assert tracing == pytest.approx(bombs.FREE, abs=2**22)


@linux
def test_what_dies_while_it_is_short_of_memory_died_of_that(worker, store, request_):
    """And not of its architecture, which would be measured slowly ever after."""
    with pytest.raises(ComputeError, match=r"SIGSEGV while it computed.*memory runs out"):
        worker.measure(request_, store, device="cpu", by=bombs.fill_and_die)
    assert deaths.notes() == []


SIZES = range(12)
"""Rungs of the ladder: each allows a twelfth more of what a measurement takes."""


@linux
@pytest.mark.slow
@pytest.mark.parametrize("stage", ["loaded", "from the start"])
@pytest.mark.parametrize(
    "asked",
    [
        {"k": 30},
        {"kind": "self", "k": 30},
        {"kind": "self", "block": 2, "k": 30},
        {"kind": "fixed-output", "block": 2, "k": 8},
        {"kind": "trajectory"},
    ],
    ids=lambda asked: " ".join(map(str, asked.values())),
)
def test_a_ladder_of_memory_is_told_in_words_on_every_rung(tmp_path, store, asked, stage):
    """None says that it was not foreseen, none hangs, and no architecture is blamed."""
    folder = str(tiny.folder(tmp_path / "tiny"))
    said = Counter()
    worker = Worker(grace=5.0)
    jobs = Jobs(store, worker.measure)
    try:
        requests = [Request(tuple(range(1 + i, 15 + i)), folder, **asked) for i in range(14)]
        worker.measure(requests[0], store, device="cpu")
        most = worker.call(partial(bombs.takes, requests[1]))
        for rung, request in zip(SIZES, requests[2:], strict=True):
            size = int(most * (rung + 0.5) / len(SIZES))
            worker.call(partial(bombs.allow, size, forget=stage != "loaded"))
            key = jobs.submit(resolve(request), "ann", "cpu").key
            ended = end_of(jobs, key)
            said["done" if not ended.error else "memory" in ended.error or ended.error] += 1
            worker.call(partial(bombs.allow, None))
    finally:
        worker.close()
    assert set(said) <= {"done", True}
    assert deaths.notes() == []


# --- time


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fate", "by", "lives"),
    [
        ("steps", mortal.waits, True),  # it comes to its next step
        ("sleep", mortal.measure, False),
        ("hold everything up", mortal.measure, False),
    ],
)
def test_what_takes_longer_than_the_app_allows_is_ended_or_replaced(
    worker, store, request_, monkeypatch, fate, by, lives
):
    monkeypatch.setenv("COUPLING_LONGEST_SECONDS", "1")
    settings.cache_clear()
    monkeypatch.setattr(asking, "SLACK", 1.5)
    pid = worker.call(os.getpid)
    with pytest.raises(ComputeError, match=r"1\.5 s"):
        worker.measure(replace(request_, prompt=fate), store, device="cpu", by=by)
    assert (worker.call(os.getpid) == pid) is lives


def test_a_hung_worker_is_replaced_at_cancel_though_a_hundred_questions_wait(
    worker, store, request_
):
    """More than the pipe holds: who asks a process that hangs must not be held up by it."""
    jobs = Jobs(store, partial(worker.measure, by=mortal.measure))
    key = jobs.submit(resolve(replace(request_, prompt="hold everything up")), "ann").key
    until(lambda: (p := jobs.status(key).progress) and p.done == mortal.BLOCKS)
    time.sleep(0.2)  # until it is where it gets stuck
    stuck, answers = worker.pid, []
    ask = partial(len, "x" * 20_000)
    threads = [threading.Thread(target=lambda: answers.append(worker.call(ask))) for _ in range(60)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)  # some fill the pipe, and the others wait for it
    jobs.leave(key, "ann")
    for thread in threads:
        thread.join(PATIENCE)
    assert len(answers) == 60
    assert worker.pid != stuck
    assert jobs.status(key).state == "cancelled"


# --- leaving


@pytest.mark.slow
@pytest.mark.real
def test_a_server_leaves_cleanly_whenever_it_is_told_to(tmp_path):
    """While its worker imports, loads and measures: nothing is said, and nobody is left."""
    chance = random.Random(0)
    for count in range(25):
        log = tmp_path / f"{count}.txt"
        with serving(tmp_path / "store", log) as app:
            time.sleep(chance.uniform(0, 8))
            workers = psutil.Process(app.pid).children(recursive=True)
            os.kill(app.pid, signal.SIGTERM)
            psutil.wait_procs([psutil.Process(app.pid)], timeout=30)
            _, left = psutil.wait_procs(workers, timeout=5)
            assert not left
        assert "terminate called" not in log.read_text()
        assert "Traceback" not in log.read_text()
