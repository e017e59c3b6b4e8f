import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import random_result

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.serving import jobs
from coupling_core.serving.jobs import Jobs, Limits
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

BLOCKS = 3
PATIENCE = 30  # seconds until a test that hangs says so


class Bench:
    """A measure that stops before each step until it is told to go on."""

    def __init__(self) -> None:
        self.calls: list[tuple[Request, str | None]] = []
        self.error: BaseException | None = None
        self.unwinding = threading.Event()
        self.unwind = threading.Event()
        self.unwind.set()
        self._go = threading.Semaphore(0)
        self._stands = threading.Semaphore(0)

    def __call__(
        self,
        request: Request,
        store: Store,
        *,
        device: str | None,
        progress: Callable[[Progress], None],
    ) -> DepthResult:
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

    def release(self) -> None:
        """Let it go on, wherever to."""
        self._go.release()

    def step(self, times: int = 1) -> None:
        """Let it go on to its next stop."""
        for _ in range(times):
            self.release()
            assert self._stands.acquire(timeout=PATIENCE)

    def start(self) -> None:
        """Wait until it stands at its first stop."""
        assert self._stands.acquire(timeout=PATIENCE)

    def finish(self) -> None:
        """Let it, and all that is queued, run to the end."""
        for _ in range(100):
            self.release()
        for thread in threading.enumerate():
            if thread.name == "measuring":
                thread.join(PATIENCE)
                assert not thread.is_alive()

    def _stop(self) -> None:
        self._stands.release()
        assert self._go.acquire(timeout=PATIENCE)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def request_(model: Path) -> Request:
    return Request("A prompt", model=str(model), k=8, k_view=4)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "root", gallery=tmp_path / "gallery")


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def queue(store: Store, bench: Bench) -> Any:
    yield Jobs(store, bench)
    bench.unwind.set()
    bench.finish()


def others(request: Request, n: int) -> list[Request]:
    return [replace(request, prompt=f"Prompt {i}") for i in range(n)]


# --- asking


def test_a_job_runs_from_queue_to_store(
    queue: Jobs, bench: Bench, store: Store, request_: Request
) -> None:
    before = time.monotonic()
    key = queue.submit(resolve(request_), "ann", "cpu").key
    bench.start()
    running = queue.status(key)
    assert (running.state, running.place, running.owners) == ("running", 0, 1)
    bench.finish()
    done = queue.status(key)
    assert (done.state, done.stored, done.error) == ("done", key, "")
    assert 0 < done.seconds == queue.status(key).seconds < time.monotonic() - before
    assert store.get(key).request == request_
    assert bench.calls == [(request_, "cpu")]
    assert queue.active() == []


def test_what_is_stored_is_done_at_once(
    queue: Jobs, bench: Bench, store: Store, request_: Request
) -> None:
    larger = random_result(request=replace(request_, k_view=6), identity=resolve(request_).identity)
    store.put(larger)
    status = queue.submit(resolve(request_), "ann")
    assert (status.state, status.stored, status.seconds) == ("done", larger.key, 0)
    assert status.key == store.key(request_, resolve(request_).identity) != larger.key
    assert queue.status(status.key) == status
    assert bench.calls == []


def test_one_thing_asked_twice_is_one_job(
    queue: Jobs, bench: Bench, model: Path, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    first = queue.submit(resolve(request_), "ann")
    bench.start()
    second = queue.submit(resolve(replace(request_, model="model", k=7)), "bob")
    assert second.key == first.key
    assert (second.state, second.owners) == ("running", 2)
    assert queue.submit(resolve(request_), "bob").owners == 2
    bench.finish()
    assert len(bench.calls) == 1


def test_many_threads_asking_at_once_are_one_job(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    barrier = threading.Barrier(8)

    def ask(owner: str) -> None:
        barrier.wait(PATIENCE)
        queue.submit(resolve(request_), owner)

    threads = [threading.Thread(target=ask, args=(str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [status.owners for status in queue.active()] == [8]
    bench.finish()
    assert len(bench.calls) == 1


def test_the_queue_is_first_come_first_served(queue: Jobs, bench: Bench, request_: Request) -> None:
    asked = others(request_, 3)
    keys = [queue.submit(resolve(request), "ann").key for request in asked]
    bench.start()
    assert [status.key for status in queue.active()] == keys
    assert [status.place for status in queue.active()] == [0, 1, 2]
    assert [status.state for status in queue.active()] == ["running", "queued", "queued"]
    assert [status.seconds for status in queue.active()[1:]] == [0, 0]
    bench.finish()
    assert [request for request, _ in bench.calls] == asked
    assert {queue.status(key).state for key in keys} == {"done"}


def test_owners_take_turns(queue: Jobs, bench: Bench, request_: Request) -> None:
    asked = others(request_, 8)
    by = {0: "ann", 1: "ann", 2: "ann", 3: "ann", 4: "bob", 5: "bob", 6: "cid"}
    for number, owner in by.items():
        queue.submit(resolve(asked[number]), owner)
    bench.start()
    expected = [0, 4, 6, 1, 5, 2, 3]  # ann's first runs already, then one of each, and again
    assert [s.request for s in queue.active()] == [asked[i] for i in expected]
    assert [s.place for s in queue.active()] == list(range(7))
    assert (
        queue.submit(resolve(asked[7]), "dora").place == 3
    )  # after those who have waited for a turn
    bench.finish()
    assert [r for r, _ in bench.calls] == [asked[i] for i in (0, 4, 6, 7, 1, 5, 2, 3)]


def test_a_job_of_several_owners_goes_when_it_is_the_turn_of_any(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    asked = others(request_, 3)
    for request in asked:
        queue.submit(resolve(request), "ann")
    bench.start()
    assert queue.submit(resolve(asked[2]), "bob").place == 1
    bench.finish()
    assert [r for r, _ in bench.calls] == [asked[0], asked[2], asked[1]]


def test_who_asks_time_and_again_keeps_nobody_waiting(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    asked = others(request_, 6)
    for number in (0, 1, 2):
        queue.submit(resolve(asked[number]), "ann")
    queue.submit(resolve(asked[3]), "bob")
    bench.start()
    bench.step(BLOCKS)
    bench.release()  # ann's first ends
    bench.start()
    queue.submit(resolve(asked[4]), "bob")  # asks again while his first runs
    bench.finish()
    assert [r for r, _ in bench.calls] == [asked[i] for i in (0, 3, 1, 4, 2)]


def test_the_owners_of_one_address_take_turns_as_one(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    asked = others(request_, 7)
    by = {0: "tab 0", 1: "tab 1", 2: "tab 2", 3: "tab 1", 4: "tab 3"}
    for number, owner in by.items():
        queue.submit(resolve(asked[number]), owner, address="192.0.2.1")
    bench.start()
    assert queue.submit(resolve(asked[5]), "ann", address="192.0.2.2").place == 1
    assert queue.submit(resolve(asked[6]), "bob").place == 2  # who has signed in
    expected = [0, 5, 6, 1, 2, 4, 3]  # and within the address, one of each tab before another
    assert [s.request for s in queue.active()] == [asked[i] for i in expected]
    whose = [s.whose for s in queue.active()]
    assert len({*whose}) == 3
    assert len({whose[i] for i in (0, 3, 4, 5, 6)}) == 1
    assert "192.0.2" not in str(whose)
    bench.finish()
    assert [r for r, _ in bench.calls] == [asked[i] for i in expected]


def test_an_address_has_half_of_the_queue(store: Store, bench: Bench, request_: Request) -> None:
    queue, asked = limited(store, bench, waiting=4), others(request_, 5)
    for number in range(3):
        queue.submit(resolve(asked[number]), f"tab {number}", address="192.0.2.1")
        if not number:
            bench.start()
    with pytest.raises(InputError, match="2 jobs from your network address wait already"):
        queue.submit(resolve(asked[3]), "tab 3", address="192.0.2.1")
    queue.submit(resolve(asked[3]), "ann", address="192.0.2.2")
    bench.finish()


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("per_owner", "2 jobs from your network address are under way"),
        ("per_hour", "people at your network address have started 2 jobs within the hour"),
    ],
)
def test_an_address_has_the_limits_of_a_class(
    limit: str, words: str, store: Store, bench: Bench, request_: Request, monkeypatch: Any
) -> None:
    monkeypatch.setattr(jobs, "CLASS", 2)
    queue, asked = limited(store, bench, **{limit: 1}), others(request_, 4)
    for number in range(2):
        queue.submit(resolve(asked[number]), f"tab {number}", address="192.0.2.1")
    with pytest.raises(InputError, match=words):
        queue.submit(resolve(asked[2]), "tab 2", address="192.0.2.1")
    queue.submit(resolve(asked[3]), "ann", address="192.0.2.2")
    bench.start()
    bench.finish()


def test_whoever_runs_the_app_ends_any_job(queue: Jobs, bench: Bench, request_: Request) -> None:
    running, waiting = (queue.submit(resolve(r), "ann").key for r in others(request_, 2))
    bench.start()
    assert queue.end(running)
    assert queue.end(waiting)
    assert not queue.end(waiting)
    assert queue.active() == []
    again = queue.submit(resolve(others(request_, 1)[0]), "bob")
    assert again.state == "queued", "nobody joins what is ended"
    bench.release()
    bench.start()
    assert (queue.status(waiting).state, queue.status(waiting).error) == ("cancelled", jobs.ENDED)
    bench.finish()


def limited(store: Store, bench: Bench, **limits: int) -> Jobs:
    return Jobs(store, bench, Limits(**limits))


def test_a_full_queue_takes_on_no_more(store: Store, bench: Bench, request_: Request) -> None:
    queue, asked = limited(store, bench, waiting=2), others(request_, 4)
    queue.submit(resolve(asked[0]), "ann")
    bench.start()
    for request in asked[1:3]:
        queue.submit(resolve(request), "ann")
    with pytest.raises(InputError, match="the queue is full: 2 jobs wait already"):
        queue.submit(resolve(asked[3]), "bob")
    assert queue.submit(resolve(asked[2]), "bob").owners == 2  # to join costs nothing
    bench.finish()


def test_an_owner_has_so_many_jobs_at_a_time(store: Store, bench: Bench, request_: Request) -> None:
    queue, asked = limited(store, bench, per_owner=2), others(request_, 4)
    keys = [queue.submit(resolve(request), "ann").key for request in asked[:2]]
    bench.start()
    with pytest.raises(InputError, match="2 of your jobs are under way"):
        queue.submit(resolve(asked[2]), "ann")
    queue.submit(resolve(asked[2]), "bob")
    queue.leave(keys[1], "ann")
    queue.submit(resolve(asked[3]), "ann")
    bench.finish()


def test_an_owner_starts_so_many_jobs_an_hour(
    store: Store, bench: Bench, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, asked = limited(store, bench, per_hour=2), others(request_, 5)
    bench.finish()
    for request in asked[:2]:
        queue.submit(resolve(request), "ann")
    bench.finish()
    with pytest.raises(InputError, match=r"2 jobs within the hour.*next one may start in 60 min"):
        queue.submit(resolve(asked[2]), "ann")
    queue.submit(resolve(asked[0]), "ann")  # what is stored costs nothing
    queue.submit(resolve(asked[2]), "bob")
    monkeypatch.setattr(jobs, "HOUR", 0.0)
    queue.submit(resolve(asked[3]), "ann")
    bench.finish()


def test_turns_are_forgotten_in_the_end(
    queue: Jobs, bench: Bench, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "OWNERS", 2)
    bench.finish()
    for number, request in enumerate(others(request_, 5)):
        queue.submit(resolve(request), f"owner {number}")
    bench.finish()
    assert list(queue._turns) == ["owner 3", "owner 4"]


def test_leaving_the_program_does_not_wait_for_a_job(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    queue.submit(resolve(request_), "ann")
    bench.start()
    assert [t.daemon for t in threading.enumerate() if t.name == "measuring"] == [True]


def test_a_later_job_starts_a_worker_again(queue: Jobs, bench: Bench, request_: Request) -> None:
    first, second = others(request_, 2)
    queue.submit(resolve(first), "ann")
    bench.finish()
    key = queue.submit(resolve(second), "ann").key
    bench.finish()
    assert queue.status(key).state == "done"


def test_a_model_that_does_not_exist_is_refused_at_once(queue: Jobs, request_: Request) -> None:
    with pytest.raises(InputError, match="unknown"):
        queue.submit(resolve(replace(request_, model="no-such-model")), "ann")
    assert queue.active() == []


def test_a_removed_result_is_computed_again(
    queue: Jobs, bench: Bench, store: Store, request_: Request
) -> None:
    key = queue.submit(resolve(request_), "ann").key
    bench.finish()
    store.remove(key)
    assert queue.submit(resolve(request_), "ann").state in ("queued", "running")
    bench.finish()
    assert len(bench.calls) == 2


# --- progress


def test_progress_is_told_a_block_at_a_time(queue: Jobs, bench: Bench, request_: Request) -> None:
    key = queue.submit(resolve(request_), "ann").key
    bench.start()
    assert queue.status(key).progress is None
    bench.step(2)
    progress = queue.status(key).progress
    assert (progress.stage, progress.done, progress.total) == ("blocks", 2, BLOCKS)
    assert isinstance(progress.partial, DepthResult)
    bench.finish()
    progress = queue.status(key).progress
    assert (progress.stage, progress.done, progress.partial) == ("saving", BLOCKS, None)


# --- leaving


def test_a_job_goes_on_for_those_who_stay(queue: Jobs, bench: Bench, request_: Request) -> None:
    key = queue.submit(resolve(request_), "ann").key
    queue.submit(resolve(request_), "bob")
    queue.leave(key, "ann")
    queue.leave(key, "ann")
    queue.leave(key, "a stranger")
    assert queue.status(key).owners == 1
    bench.finish()
    assert queue.status(key).state == "done"


def test_a_job_nobody_waits_for_stops_at_its_next_block(
    queue: Jobs, bench: Bench, store: Store, request_: Request
) -> None:
    first, second = others(request_, 2)
    key = queue.submit(resolve(first), "ann").key
    waiting = queue.submit(resolve(second), "bob").key
    bench.start()
    bench.step(1)
    queue.leave(key, "ann")
    assert queue.status(key).state == "running"
    bench.finish()
    cancelled = queue.status(key)
    assert cancelled.state == "cancelled"
    assert cancelled.progress.done == 2
    assert np.isfinite(cancelled.progress.partial.jacobian_norm).all()
    assert cancelled.seconds == queue.status(key).seconds > 0
    assert store.find(first, resolve(first).identity) is None
    assert queue.status(waiting).state == "done"


def test_a_queued_job_nobody_waits_for_never_runs(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    asked = others(request_, 3)
    keys = [queue.submit(resolve(request), "ann").key for request in asked]
    bench.start()
    queue.leave(keys[1], "ann")
    cancelled = queue.status(keys[1])
    assert (cancelled.state, cancelled.place, cancelled.seconds) == ("cancelled", 0, 0)
    assert [status.key for status in queue.active()] == [keys[0], keys[2]]
    assert queue.status(keys[2]).place == 1
    bench.finish()
    assert [request for request, _ in bench.calls] == [asked[0], asked[2]]


def test_coming_back_before_the_next_block_saves_the_job(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    key = queue.submit(resolve(request_), "ann").key
    bench.start()
    queue.leave(key, "ann")
    assert queue.submit(resolve(request_), "bob").owners == 1
    bench.finish()
    assert queue.status(key).state == "done"
    assert len(bench.calls) == 1


def test_coming_back_while_a_cancelled_job_unwinds_is_a_job_of_its_own(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    key = queue.submit(resolve(request_), "ann").key
    bench.start()
    bench.unwind.clear()
    queue.leave(key, "ann")
    bench.release()
    assert bench.unwinding.wait(PATIENCE)
    assert queue.status(key).state == "cancelled"
    assert queue.active() == []
    again = queue.submit(resolve(request_), "bob")
    assert (again.state, again.place, again.owners) == ("queued", 1, 1)
    bench.unwind.set()
    bench.finish()
    assert queue.status(key).state == "done"
    assert len(bench.calls) == 2


def test_what_is_finished_is_saved_though_nobody_waits(
    queue: Jobs, bench: Bench, store: Store, request_: Request
) -> None:
    key = queue.submit(resolve(request_), "ann").key
    bench.start()
    bench.step(BLOCKS)
    queue.leave(key, "ann")
    bench.finish()
    assert queue.status(key).state == "done"
    assert store.get(key).request == request_


# --- failing


class OutOfMemoryError(RuntimeError):
    """Named as torch names its own."""


@pytest.mark.parametrize(
    ("error", "words", "logged"),
    [
        (ComputeError("the disk is full: free some space"), "the disk is full: free", False),
        (MemoryError(), "memory ran out while measuring: close other programs", False),
        (OutOfMemoryError("CUDA"), "memory ran out while measuring: close other programs", False),
        (ValueError("a shape"), "not foreseen (ValueError: a shape)", True),
        (SystemExit(3), "not foreseen (SystemExit: 3)", True),
    ],
    ids=["plain", "memory", "torch's memory", "unforeseen", "exit"],
)
def test_a_failure_is_told_in_plain_words(
    queue: Jobs,
    bench: Bench,
    request_: Request,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
    words: str,
    logged: bool,
) -> None:
    bench.error = error
    key = queue.submit(resolve(request_), "ann").key
    with caplog.at_level(logging.ERROR):
        bench.finish()
    failed = queue.status(key)
    assert failed.state == "failed"
    assert words in failed.error
    assert failed.progress.partial is not None
    assert [record.exc_info[1] for record in caplog.records] == ([error] if logged else [])


def test_the_worker_outlives_a_failure_and_tries_again(
    queue: Jobs, bench: Bench, request_: Request
) -> None:
    bench.error = ComputeError("no luck")
    first, second = (queue.submit(resolve(request), "ann").key for request in others(request_, 2))
    bench.finish()
    assert queue.status(first).state == queue.status(second).state == "failed"
    bench.error = None
    assert queue.submit(resolve(others(request_, 1)[0]), "ann").key == first
    bench.finish()
    assert (queue.status(first).state, queue.status(first).error) == ("done", "")


# --- remembering


def test_only_the_latest_ended_jobs_are_remembered(
    queue: Jobs, bench: Bench, request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "KEPT", 3)
    asked = others(request_, 6)
    keys = [queue.submit(resolve(request), "ann").key for request in asked[:4]]
    bench.finish()
    for again in (asked[2], asked[4], asked[5]):
        queue.submit(resolve(again), "ann")
        bench.finish()
    assert [queue.status(key) is not None for key in keys] == [False, False, True, False]
    assert queue.status("unknown") is None
