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
from coupling_core.serving.heartbeat import STUCK, Heartbeat, file_of, problem
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", gallery=tmp_path / "none")


def note_of(store):
    """The file in which this process notes that its worker lives."""
    return file_of(store.root, os.getpid())


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
    said = "is busy, and has said nothing for 16 minutes"
    assert problem(store) == f"the worker of process {os.getpid()} {said}"
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
    noted = note_of(store).read_text()
    worker.beat(busy=True)
    assert problem(store) == ""
    assert note_of(store).read_text() == noted  # nor does it beat more often


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
    (left,) = store.root.iterdir()
    note = json.loads(left.read_text())
    born = psutil.Process().create_time()
    note_of(store).write_text(json.dumps(note | {"pid": os.getpid(), "born": born - 60}))
    assert problem(store) == ""
    note_of(store).write_text(json.dumps(note | {"pid": os.getpid(), "born": born}))
    assert "has said nothing" in problem(store)


def test_two_apps_on_one_store_do_not_hide_one_another(store, monkeypatch):
    """Whether the other one works or hangs: both are told."""
    note, other = note_of(store), file_of(store.root, os.getppid())
    Heartbeat(store.root).beat(busy=True)
    told = json.loads(note.read_text())
    born = psutil.Process(os.getppid()).create_time()
    hangs = told | {"time": told["time"] - 2 * STUCK, "pid": os.getppid(), "born": born}
    other.write_text(json.dumps(hangs))
    Heartbeat(store.root).beat(busy=True)
    assert problem(store).startswith(f"the worker of process {os.getppid()} is busy")
    note.write_text(json.dumps(told | {"time": told["time"] - 2 * STUCK}))
    assert problem(store).count("30 minutes") == 2


def test_of_another_machine_nothing_is_said(store, monkeypatch):
    Heartbeat(store.root).beat(busy=True)
    now = time.monotonic()
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now + STUCK + 60)
    assert problem(store)
    monkeypatch.setattr(heartbeat.socket, "gethostname", lambda: "another")
    assert problem(store) == ""


def test_what_a_dead_process_left_is_removed_and_what_a_living_one_has_is_not(store):
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    dead, living = (file_of(store.root, pid) for pid in (int(ended.stdout), os.getppid()))
    store.root.mkdir(parents=True)
    for path in (dead, living):
        path.write_text("{}")
    Heartbeat(store.root).beat(busy=False)
    assert sorted(store.root.iterdir()) == sorted([living, note_of(store)])


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
    noted = note_of(store).read_text()
    for _ in range(100):
        worker.beat(busy=True)
    assert note_of(store).read_text() == noted


def test_a_store_that_cannot_be_written_stops_no_worker(tmp_path):
    (tmp_path / "file").write_text("")
    Heartbeat(tmp_path / "file" / "store").beat(busy=True)


@pytest.mark.parametrize("text", ["", "[]", '{"busy": true}', '{"busy": true, "time": "x"}'])
def test_a_note_that_cannot_be_read_is_told(text, store):
    store.root.mkdir(parents=True)
    note_of(store).write_text(text)
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
    note = json.loads(note_of(store).read_text())
    note_of(store).write_text(json.dumps(note | {"time": note["time"] - 2 * STUCK}))
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
        seen.append(json.loads(note_of(store).read_text())["busy"])
        raise ComputeError("enough")

    jobs = Jobs(store, measure)
    key = jobs.submit(resolve(Request("Any", model="smollm2-135m")), "ann").key
    for _ in range(200):
        if jobs.status(key).state == "failed" and not jobs.active():
            break
        time.sleep(0.05)
    time.sleep(0.2)
    assert seen == [True]
    assert json.loads(note_of(store).read_text())["busy"] is False
