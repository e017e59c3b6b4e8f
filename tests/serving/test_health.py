"""Whether an app that runs answers, and whether its worker lives."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from cases import random_result
from saying import saying

from coupling_core.base.errors import ComputeError
from coupling_core.serving import heartbeat
from coupling_core.serving.heartbeat import FILE, STUCK, Heartbeat, problem
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", gallery=tmp_path / "none")


@pytest.fixture
def app():
    """A server that answers as the app does; what it says can be changed."""
    with saying(b"ok", ["/_stcore/health"]) as served:
        yield served


def test_a_worker_that_was_never_there_is_no_fault(store):
    assert problem(store) == ""


def test_a_busy_worker_that_falls_silent_is_told(store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    assert problem(store) == ""
    now = time.monotonic()
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now + STUCK + 60)
    assert problem(store) == "the worker is busy, and has said nothing for 16 minutes"
    worker.beat(busy=True)
    assert problem(store) == ""


def test_an_idle_worker_may_be_silent(store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    worker.beat(busy=False)  # told at once, though it comes right after
    now = time.monotonic()
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now + 10 * STUCK)
    assert problem(store) == ""


@pytest.mark.parametrize("jump", [-86400, 86400])
def test_a_clock_that_jumps_makes_no_worker_look_stuck(jump, store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    assert problem(store) == ""
    noted = (store.root / FILE).read_text()
    worker.beat(busy=True)
    assert problem(store) == ""
    assert (store.root / FILE).read_text() == noted  # nor does it beat more often


def test_what_a_process_noted_counts_no_longer_than_it_lives(store, monkeypatch):
    """A container that was killed in a job and started again is well, under the same number."""
    command = (
        "import sys, pathlib; from coupling_core.serving.heartbeat import Heartbeat; "
        "Heartbeat(pathlib.Path(sys.argv[1])).beat(busy=True)"
    )
    subprocess.run([sys.executable, "-c", command, store.root], check=True, cwd=ROOT)
    now = time.monotonic()
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now + STUCK + 60)
    assert problem(store) == ""
    note = json.loads((store.root / FILE).read_text())
    born = psutil.Process().create_time()
    (store.root / FILE).write_text(json.dumps(note | {"pid": os.getpid(), "born": born - 60}))
    assert problem(store) == ""
    (store.root / FILE).write_text(json.dumps(note | {"pid": os.getpid(), "born": born}))
    assert "has said nothing" in problem(store)


def test_a_note_that_cannot_be_renewed_is_taken_back(store, monkeypatch):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)

    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", no_room)
    worker.beat(busy=False)
    assert not list(store.root.iterdir())
    assert problem(store) == ""


def test_steps_by_the_hundred_are_noted_once(store):
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    noted = (store.root / FILE).read_text()
    for _ in range(100):
        worker.beat(busy=True)
    assert (store.root / FILE).read_text() == noted


def test_a_store_that_cannot_be_written_stops_no_worker(tmp_path):
    (tmp_path / "file").write_text("")
    Heartbeat(tmp_path / "file" / "store").beat(busy=True)


@pytest.mark.parametrize("text", ["", "[]", '{"busy": true}', '{"busy": true, "time": "x"}'])
def test_a_note_that_cannot_be_read_is_told(text, store):
    store.root.mkdir(parents=True)
    (store.root / FILE).write_text(text)
    assert "cannot be read" in problem(store)


def test_the_note_is_no_result(store):
    store.put(random_result())
    Heartbeat(store.root).beat(busy=True)
    assert len(store.entries()) == 1


def test_the_command(run, app, store):
    url, handler = app
    arguments = ("health", "--url", url, "--store", store.root)
    assert run(*arguments)[:2] == (0, "ok\n")
    handler.said = b"<html>another program</html>"
    status, _, err = run(*arguments)
    assert (status, "is not well" in err) == (1, True)
    handler.said = b"ok"
    Heartbeat(store.root).beat(busy=True)
    note = json.loads((store.root / FILE).read_text())
    (store.root / FILE).write_text(json.dumps(note | {"time": note["time"] - 2 * STUCK}))
    status, _, err = run(*arguments)
    assert (status, "said nothing for 30 minutes" in err) == (1, True)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "127.0.0.1:9", "file:///etc/passwd", "x"])
def test_an_app_that_does_not_answer_is_told(url, run):
    status, _, err = run("health", "--url", url)
    assert (status, err.count("\n"), "does not answer" in err) == (1, 1, True)


def test_the_queue_keeps_the_note(store):
    from coupling_core.base.records import Request
    from coupling_core.serving.jobs import Jobs

    seen = []

    def measure(request, store, *, device, progress):
        seen.append(json.loads((store.root / FILE).read_text())["busy"])
        raise ComputeError("enough")

    jobs = Jobs(store, measure)
    key = jobs.submit(resolve(Request("Any", model="smollm2-135m")), "ann").key
    for _ in range(200):
        if jobs.status(key).state == "failed" and not jobs.active():
            break
        time.sleep(0.05)
    time.sleep(0.2)
    assert seen == [True]
    assert json.loads((store.root / FILE).read_text())["busy"] is False
