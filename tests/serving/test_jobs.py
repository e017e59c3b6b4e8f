"""A queue of jobs: whose turn it is, what is told, who may leave, what is remembered."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from cases import random_result

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.results import DepthResult, Progress
from coupling_core.serving import jobs
from coupling_core.serving.jobs import Jobs, Limits
from coupling_core.sources.resolved import resolve

BLOCKS = 3
PATIENCE = 30  # seconds until a test that hangs says so


class Bench:
    """A measure that stops before each step until it is told to go on."""

    def __init__(self):
        self.calls, self.error = [], None
        self.unwinding, self.unwind = threading.Event(), threading.Event()
        self.unwind.set()
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, request, store, *, device, progress):
        self.calls.append((request, device))
        result = random_result(request=request, identity=resolve(request).identity)
        try:
            self._stop()
            for block in range(1, BLOCKS + 1):
                progress(Progress("blocks", block, BLOCKS, result))
                self._stop()
            if self.error:
                raise self.error
            progress(Progress("saving", BLOCKS, BLOCKS, result))
        finally:
            self.unwinding.set()
            assert self.unwind.wait(PATIENCE)
        store.put(result)
        return result

    def release(self):
        """Let it go on, wherever to."""
        self._go.release()

    def step(self, times=1):
        """Let it go on to its next stop."""
        for _ in range(times):
            self.release()
            self.start()

    def start(self):
        """Wait until it stands at its first stop."""
        assert self._stands.acquire(timeout=PATIENCE)

    def finish(self):
        """Let it, and all that is queued, run to the end."""
        for _ in range(100):
            self.release()
        for thread in threading.enumerate():
            if thread.name == "measuring":
                thread.join(PATIENCE)
                assert not thread.is_alive()

    def _stop(self):
        self._stands.release()
        assert self._go.acquire(timeout=PATIENCE)


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def limited(store, bench):
    """A queue with limits."""
    yield lambda **limits: Jobs(store, bench, Limits(**limits))
    bench.unwind.set()
    bench.finish()


@pytest.fixture
def queue(limited):
    return limited()


def submit(queue, request, owner="ann", **more):
    return queue.submit(resolve(request), owner, **more)


def submit_all(queue, asked, by, **more):
    """Of each number the request, for its owner; gives the keys."""
    return [submit(queue, asked[number], owner, **more).key for number, owner in by.items()]


def order(bench):
    """Numbers of what was measured."""
    return [int(request.prompt.split()[1]) for request, _ in bench.calls]


def waiting(queue):
    return [int(status.request.prompt.split()[1]) for status in queue.active()]


# --- asking


def test_a_job_runs_from_queue_to_store(queue, bench, store, asked):
    key = submit(queue, asked[0], device="cpu").key
    bench.start()
    running = queue.status(key)
    assert (running.state, running.place, running.owners) == ("running", 0, 1)
    assert running.progress is None
    # Leaving the program does not wait for it.
    assert [t.daemon for t in threading.enumerate() if t.name == "measuring"] == [True]
    bench.step(2)
    progress = queue.status(key).progress
    assert (progress.stage, progress.done, progress.total) == ("blocks", 2, BLOCKS)
    assert isinstance(progress.partial, DepthResult)
    bench.finish()
    done = queue.status(key)
    assert (done.state, done.stored, done.error) == ("done", key, "")
    assert (done.progress.done, done.progress.partial) == (BLOCKS, None)
    assert 0 < done.seconds == queue.status(key).seconds
    assert store.get(key).request == asked[0]
    assert bench.calls == [(asked[0], "cpu")]
    assert queue.active() == []
    again = submit(queue, asked[1]).key  # the worker has ended, and another starts
    bench.finish()
    assert queue.status(again).state == "done"


def test_what_is_stored_is_done_at_once_and_what_was_removed_is_not(queue, bench, store, asked):
    identity = resolve(asked[0]).identity
    larger = random_result(request=replace(asked[0], k_view=6), identity=identity)
    store.put(larger)
    status = submit(queue, asked[0])
    assert (status.state, status.stored, status.seconds) == ("done", larger.key, 0)
    assert status.key == store.key(asked[0], identity) != larger.key
    assert queue.status(status.key) == status
    assert bench.calls == []
    store.remove(larger.key)
    assert submit(queue, asked[0]).state in ("queued", "running")


def test_one_thing_asked_twice_is_one_job(queue, bench, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = submit(queue, asked[0])
    bench.start()
    second = submit(queue, replace(asked[0], model="model", k=7), "bob")
    assert second.key == first.key
    assert (second.state, second.owners) == ("running", 2)
    assert submit(queue, asked[0], "bob").owners == 2
    bench.finish()
    assert len(bench.calls) == 1


def test_many_threads_asking_at_once_are_one_job(queue, bench, asked):
    barrier = threading.Barrier(8)

    def ask(owner):
        barrier.wait(PATIENCE)
        submit(queue, asked[0], owner)

    with ThreadPoolExecutor(8) as eight:
        list(eight.map(ask, "abcdefgh"))
    assert [status.owners for status in queue.active()] == [8]
    bench.finish()
    assert len(bench.calls) == 1


def test_owners_take_turns(queue, bench, asked):
    submit_all(queue, asked, dict(enumerate(("ann", "ann", "ann", "ann", "bob", "bob", "cid"))))
    bench.start()
    # ann's first runs already, then one of each, and again
    assert waiting(queue) == [0, 4, 6, 1, 5, 2, 3]
    assert [s.place for s in queue.active()] == list(range(7))
    # after those who have waited for a turn
    assert submit(queue, asked[7], "dora").place == 3
    bench.finish()
    assert order(bench) == [0, 4, 6, 7, 1, 5, 2, 3]


def test_a_job_of_several_owners_goes_when_it_is_the_turn_of_any(queue, bench, asked):
    submit_all(queue, asked, dict.fromkeys(range(3), "ann"))
    bench.start()
    assert submit(queue, asked[2], "bob").place == 1
    bench.finish()
    assert order(bench) == [0, 2, 1]


def test_the_owners_of_one_address_take_turns_as_one(queue, bench, asked):
    by = {0: "tab 0", 1: "tab 1", 2: "tab 2", 3: "tab 1", 4: "tab 3"}
    submit_all(queue, asked, by, address="192.0.2.1")
    bench.start()
    assert submit(queue, asked[5], "ann", address="192.0.2.2").place == 1
    assert submit(queue, asked[6], "bob").place == 2  # who has signed in
    expected = [0, 5, 6, 1, 2, 4, 3]  # and within the address, one of each tab before another
    assert waiting(queue) == expected
    whose = [s.whose for s in queue.active()]
    assert len({*whose}) == 3
    assert len({whose[i] for i in (0, 3, 4, 5, 6)}) == 1
    assert "192.0.2" not in str(whose)
    bench.finish()
    assert order(bench) == expected


def test_a_full_queue_takes_on_no_more_and_an_address_has_half_of_it(limited, bench, asked):
    queue = limited(waiting=4)
    submit(queue, asked[0])
    bench.start()
    submit_all(queue, asked, {1: "tab 1", 2: "tab 2"}, address="192.0.2.1")
    with pytest.raises(InputError, match="2 jobs from your network address"):
        submit(queue, asked[3], "tab 3", address="192.0.2.1")
    submit_all(queue, asked, {3: "ann", 4: "bob"}, address="192.0.2.2")
    with pytest.raises(InputError, match="full: 4 jobs"):
        submit(queue, asked[5], "cid")
    assert submit(queue, asked[4], "cid").owners == 2  # to join costs nothing


@pytest.mark.parametrize("limit", ["per_owner", "per_hour"])
def test_an_address_has_the_limits_of_a_class(limit, limited, bench, asked, monkeypatch):
    monkeypatch.setattr(jobs, "CLASS", 2)
    queue = limited(**{limit: 1})
    submit_all(queue, asked, {0: "tab 0", 1: "tab 1"}, address="192.0.2.1")
    with pytest.raises(InputError, match=r"at your network address .*2 jobs|2 jobs from your"):
        submit(queue, asked[2], "tab 2", address="192.0.2.1")
    submit(queue, asked[3], "ann", address="192.0.2.2")


def test_an_owner_has_so_many_jobs_at_a_time(limited, bench, asked):
    queue = limited(per_owner=2)
    keys = submit_all(queue, asked, {0: "ann", 1: "ann"})
    bench.start()
    with pytest.raises(InputError, match="2 of your jobs"):
        submit(queue, asked[2])
    submit(queue, asked[2], "bob")
    queue.leave(keys[1], "ann")
    submit(queue, asked[3])


def test_an_owner_starts_so_many_jobs_an_hour(limited, bench, asked, monkeypatch):
    queue = limited(per_hour=2)
    bench.finish()
    submit_all(queue, asked, {0: "ann", 1: "ann"})
    bench.finish()
    with pytest.raises(InputError, match=r"2 jobs within the hour.* in 60 min"):
        submit(queue, asked[2])
    submit(queue, asked[0])  # what is stored costs nothing
    submit(queue, asked[2], "bob")
    monkeypatch.setattr(jobs, "HOUR", 0.0)
    submit(queue, asked[3])


def test_whoever_runs_the_app_ends_any_job(queue, bench, asked):
    running, waits = submit_all(queue, asked, {0: "ann", 1: "ann"})
    bench.start()
    assert [queue.end(key) for key in (running, waits, waits)] == [True, True, False]
    assert queue.active() == []
    assert submit(queue, asked[0], "bob").state == "queued", "nobody joins what is ended"
    bench.release()
    bench.start()
    assert (queue.status(waits).state, queue.status(waits).error) == ("cancelled", jobs.ENDED)


def test_turns_are_forgotten_in_the_end(queue, bench, asked, monkeypatch):
    monkeypatch.setattr(jobs, "OWNERS", 2)
    bench.finish()
    submit_all(queue, asked, {number: f"owner {number}" for number in range(5)})
    bench.finish()
    assert list(queue._turns) == ["owner 3", "owner 4"]


# --- leaving


def test_a_job_goes_on_for_those_who_stay_or_come_back_in_time(queue, bench, asked):
    key = submit(queue, asked[0]).key
    submit(queue, asked[0], "bob")
    bench.start()
    for owner in ("ann", "ann", "a stranger"):
        queue.leave(key, owner)
    assert queue.status(key).owners == 1
    queue.leave(key, "bob")
    assert submit(queue, asked[0], "cid").owners == 1  # before its next block
    bench.finish()
    assert queue.status(key).state == "done"
    assert len(bench.calls) == 1


def test_a_job_nobody_waits_for_stops_at_its_next_block(queue, bench, store, asked):
    key, waits = submit_all(queue, asked, {0: "ann", 1: "bob"})
    bench.start()
    bench.step(1)
    queue.leave(key, "ann")
    assert queue.status(key).state == "running"
    bench.finish()
    cancelled = queue.status(key)
    assert (cancelled.state, cancelled.progress.done) == ("cancelled", 2)
    assert np.isfinite(cancelled.progress.partial.jacobian_norm).all()
    assert cancelled.seconds == queue.status(key).seconds > 0
    assert store.find(asked[0], resolve(asked[0]).identity) is None
    assert queue.status(waits).state == "done"


def test_a_queued_job_nobody_waits_for_never_runs(queue, bench, asked):
    keys = submit_all(queue, asked, dict.fromkeys(range(3), "ann"))
    bench.start()
    queue.leave(keys[1], "ann")
    cancelled = queue.status(keys[1])
    assert (cancelled.state, cancelled.place, cancelled.seconds) == ("cancelled", 0, 0)
    assert waiting(queue) == [0, 2]
    assert queue.status(keys[2]).place == 1
    bench.finish()
    assert order(bench) == [0, 2]


def test_coming_back_while_a_cancelled_job_unwinds_is_a_job_of_its_own(queue, bench, asked):
    key = submit(queue, asked[0]).key
    bench.start()
    bench.unwind.clear()
    queue.leave(key, "ann")
    bench.release()
    assert bench.unwinding.wait(PATIENCE)
    assert queue.status(key).state == "cancelled"
    assert queue.active() == []
    again = submit(queue, asked[0], "bob")
    assert (again.state, again.place, again.owners) == ("queued", 1, 1)
    bench.unwind.set()
    bench.finish()
    assert queue.status(key).state == "done"
    assert len(bench.calls) == 2


def test_what_is_finished_is_saved_though_nobody_waits(queue, bench, store, asked):
    key = submit(queue, asked[0]).key
    bench.start()
    bench.step(BLOCKS)
    queue.leave(key, "ann")
    bench.finish()
    assert queue.status(key).state == "done"
    assert store.get(key).request == asked[0]


# --- failing and remembering


class OutOfMemoryError(RuntimeError):
    """Named as torch names its own."""


FAILURES = {
    "plain": (ComputeError("the disk is full"), "the disk is full", False),
    "memory": (MemoryError(), "memory ran out", False),
    "torch's memory": (OutOfMemoryError("CUDA"), "memory ran out", False),
    "unforeseen": (ValueError("a shape"), "(ValueError: a shape)", True),
    "exit": (SystemExit(3), "(SystemExit: 3)", True),
}


@pytest.mark.parametrize(("error", "told", "logged"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_told_in_plain_words(queue, bench, asked, caplog, error, told, logged):
    bench.error = error
    key = submit(queue, asked[0]).key
    with caplog.at_level(logging.ERROR):
        bench.finish()
    failed = queue.status(key)
    assert (failed.state, told in failed.error) == ("failed", True)
    assert failed.progress.partial is not None
    assert [record.exc_info[1] for record in caplog.records] == ([error] if logged else [])


def test_the_worker_outlives_a_failure_and_tries_again(queue, bench, asked):
    bench.error = ComputeError("no luck")
    keys = submit_all(queue, asked, {0: "ann", 1: "ann"})
    bench.finish()
    assert [queue.status(key).state for key in keys] == ["failed", "failed"]
    bench.error = None
    assert submit(queue, asked[0]).key == keys[0]
    bench.finish()
    assert (queue.status(keys[0]).state, queue.status(keys[0]).error) == ("done", "")


def test_only_the_latest_ended_jobs_are_remembered(queue, bench, asked, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT", 3)
    keys = submit_all(queue, asked, dict.fromkeys(range(4), "ann"))
    bench.finish()
    for again in (2, 4, 5):
        submit(queue, asked[again])
        bench.finish()
    assert [queue.status(key) is not None for key in keys] == [False, False, True, False]
    assert queue.status("unknown") is None
