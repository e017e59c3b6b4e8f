"""Whether an app that runs answers, and whether its worker lives."""

import errno
import json
import os
import time
from pathlib import Path

import psutil
import pytest
from cases import random_result
from saying import saying
from waiting import end_of, until

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Request
from coupling_core.serving import heartbeat
from coupling_core.serving.heartbeat import STUCK, Heartbeat, file_of, problem
from coupling_core.serving.jobs import Jobs
from coupling_core.sources.resolved import resolve

NOBODY = 2**22 + 1
"""A process that there cannot be."""


def note_of(store):
    """The file in which this process notes that its worker lives."""
    return file_of(store.root, os.getpid())


@pytest.fixture
def later(monkeypatch):
    """Have so many seconds gone by."""

    def later(seconds):
        now = time.monotonic()
        monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now + seconds)

    return later


def test_a_busy_worker_that_falls_silent_is_told_and_an_idle_one_may_be_silent(store, later):
    assert problem(store) == ""  # there was never one
    worker = Heartbeat(store.root)
    worker.beat(busy=True)
    assert problem(store) == ""
    later(STUCK + 60)
    assert str(os.getpid()) in problem(store)
    assert "16 minutes" in problem(store)
    worker.beat(busy=True)
    assert problem(store) == ""
    worker.beat(busy=False)  # told at once, though it comes right after
    later(10 * STUCK)
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
    assert note_of(store).read_text() == noted  # nor does it beat more often


def test_what_a_process_noted_counts_no_longer_than_it_lives_and_here_alone(
    store, later, monkeypatch
):
    """A container that was killed in a job and started again is well, under the same number."""
    Heartbeat(store.root).beat(busy=True)
    later(STUCK + 60)
    assert "has said nothing" in problem(store)
    with monkeypatch.context() as patch:
        patch.setattr(heartbeat.socket, "gethostname", lambda: "another")
        assert problem(store) == ""
    note = json.loads(note_of(store).read_text())
    note_of(store).write_text(json.dumps(note | {"born": note["born"] - 60}))
    assert problem(store) == ""
    note_of(store).write_text(json.dumps(note | {"pid": NOBODY}))
    assert problem(store) == ""


def test_two_apps_on_one_store_do_not_hide_one_another(store):
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


def test_what_a_dead_process_left_is_removed_and_what_a_living_one_has_is_not(store):
    dead, living = (file_of(store.root, pid) for pid in (NOBODY, os.getppid()))
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
    Heartbeat(Path("/dev/null/store")).beat(busy=True)  # where there cannot be one


def test_a_note_that_cannot_be_read_is_told(store):
    store.root.mkdir(parents=True)
    for text in ("", "[]", '{"busy": true}', '{"busy": true, "time": "x"}'):
        note_of(store).write_text(text)
        assert "cannot be read" in problem(store)


def test_the_note_is_no_result(store):
    store.put(random_result())
    Heartbeat(store.root).beat(busy=True)
    assert len(store.entries()) == 1


def test_the_command(run, store):
    with saying(b"ok", ["/_stcore/health"]) as (url, handler):
        arguments = ("health", "--url", url, "--store", store.root)
        assert run(*arguments)[:2] == (0, "ok\n")
        handler.said = b"<html>another program</html>"
        assert run(*arguments)[0] == 1
        handler.said = b"ok"
        Heartbeat(store.root).beat(busy=True)
        note = json.loads(note_of(store).read_text())
        note_of(store).write_text(json.dumps(note | {"time": note["time"] - 2 * STUCK}))
        status, _, err = run(*arguments)
        assert (status, "30 minutes" in err) == (1, True)


def test_an_app_that_does_not_answer_is_told(run):
    for url in ("http://127.0.0.1:9", "127.0.0.1:9", "file:///etc/passwd", "x"):
        status, _, err = run("health", "--url", url)
        assert (status, err.count("\n"), "does not answer" in err) == (1, 1, True)


def test_the_queue_keeps_the_note(store):
    def measure(request, store, *, device, progress):
        seen.append(json.loads(note_of(store).read_text())["busy"])
        raise ComputeError("enough")

    seen, jobs = [], Jobs(store, measure)
    key = jobs.submit(resolve(Request("Any", model="smollm2-135m")), "ann").key
    assert end_of(jobs, key).state == "failed"
    assert seen == [True]
    until(lambda: not json.loads(note_of(store).read_text())["busy"])
