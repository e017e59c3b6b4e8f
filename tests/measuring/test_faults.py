"""Faults of all kinds: nothing that is stored is lost, and what failed works the next time.

Bytes that change are in test_damage.py, the store by itself in test_store.py.
"""

import os
import shutil
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import store_processes as processes
import tiny
from cases import content, random_result
from rotting import flip
from waiting import PATIENCE, end_of

from coupling_core import ComputeError, InputError, Request, measure
from coupling_core.base import writing
from coupling_core.base.writing import TEMPORARY
from coupling_core.engine.loading import loading
from coupling_core.serving.heartbeat import file_of, problem
from coupling_core.serving.jobs import Jobs, Limits
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve
from coupling_core.store import archive

pytestmark = pytest.mark.full
DAY = 86400


@pytest.fixture
def results(tmp_path):
    return processes.own_store(tmp_path / "results")


@pytest.fixture(scope="module")
def request_(folder):
    return Request("The cat sat", model=str(folder), k=4)


@pytest.fixture(scope="module")
def expected(request_):
    return measure(request_, device="cpu")


@pytest.fixture
def own(tmp_path, folder):
    """A model that may be harmed."""
    return shutil.copytree(folder, tmp_path / "tiny")


@pytest.fixture
def of_own(own):
    return Request("The cat sat", model=str(own), k=4)


def numbers(result):
    """What was measured, without how long it took."""
    return content(replace(result, provenance={}))


# --- a worker that dies


MODEL = "transformers.models.llama.modeling_llama.LlamaAttention.forward"
SVD = "coupling_core.engine.pairs.svd._finish"
STORE = "coupling_core.store.disk.write_whole"


class UnspeakableError(Exception):
    """Not even its words can be had, so that it gets past all that catches it."""

    def __str__(self):
        raise SystemExit(1)


@pytest.fixture
def queue(results):
    return Jobs(results)


@pytest.fixture(autouse=True)
def _idle_at_the_end():
    yield
    wait_for_idle()


def wait_for_idle():
    for thread in threading.enumerate():
        if thread.name == "measuring":
            thread.join(PATIENCE)
            assert not thread.is_alive()


def ended(queue, request):
    return end_of(queue, queue.submit(resolve(request), "ann", "cpu").key)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        (STORE, KeyboardInterrupt(), "not foreseen (KeyboardInterrupt"),
        (SVD, SystemExit(3), "not foreseen (SystemExit: 3)"),
        (MODEL, MemoryError(), "may be used now: close other programs"),
        (MODEL, UnspeakableError(), "its own code fails with UnspeakableError"),
        (STORE, UnspeakableError(), "the worker died while it measured this"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_is_raised_deep_inside_the_next_job_runs(
    queue, results, request_, expected, monkeypatch, place, error, words
):
    raised = []

    def fails(*_, **__):
        raised.append(error)
        raise error

    with monkeypatch.context() as fault:
        fault.setattr(place, fails)
        failed = ended(queue, request_)
        wait_for_idle()
    assert raised
    assert (failed.state, words in failed.error) == ("failed", True)
    assert isinstance(error, MemoryError) == ("memory ran out while measuring" in failed.error)
    assert queue.active() == []
    wait_for_idle()
    assert problem(results) == ""
    assert '"busy": false' in file_of(results.root, os.getpid()).read_text()
    done = ended(queue, request_)
    assert done.state == "done"
    assert numbers(replace(results.get(done.stored), key="")) == numbers(expected)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_jobs_that_wait_run_after_a_worker_that_died(results, request_):
    def dies(request, store, **_):
        if request == request_:
            raise UnspeakableError
        return random_result(request=request, identity=resolve(request).identity)

    queue = Jobs(results, dies)
    keys = [
        queue.submit(resolve(asked), "ann").key
        for asked in (request_, *(replace(request_, prompt=text) for text in "abc"))
    ]
    assert [end_of(queue, key).state for key in keys] == ["failed", "done", "done", "done"]


def test_a_worker_that_cannot_be_started_is_started_later(queue, request_, monkeypatch):
    def no_thread(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as fault:
        fault.setattr(threading.Thread, "start", no_thread)
        key = queue.submit(resolve(request_), "ann", "cpu").key
        assert queue.status(key).state == "queued"
    assert end_of(queue, key).state == "done"


# --- disks


def test_jobs_on_a_disk_that_is_full_or_cannot_be_written(tmp_path):
    processes.on_a_small_disk(tmp_path, processes.compute_while_the_disk_is_full, "16m")


def test_a_cache_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COUPLING_HOME", str(tmp_path / "file" / "home"))
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    with pytest.raises(ComputeError, match=r"tiny does not load: .*Not a directory"):
        measure(Request("The cat", model=str(file), k=4))


# --- clocks that are set


def ahead(seconds):
    """The time module of a machine whose clock is that far ahead."""
    return SimpleNamespace(time=lambda: time.time() + seconds)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_result_that_is_being_written_is_not_swept_away(results, monkeypatch, jump):
    """Another process, or this one a moment later, may have another idea of what is long ago."""
    other, result, left = random_result(1), random_result(), [1]
    really = os.fsync

    def meanwhile(descriptor):
        really(descriptor)
        if left and left.pop():
            with monkeypatch.context() as clock:
                clock.setattr(writing, "time", ahead(jump))
                results.put(other)

    monkeypatch.setattr(archive.os, "fsync", meanwhile)
    results.put(result)
    assert not left
    for expected in (result, other):
        assert content(results.get(expected.key)) == content(expected)
    assert not list(results.root.glob(f".*{TEMPORARY}"))


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_what_was_just_written_stays_whatever_the_times_of_the_others(tmp_path, jump):
    small = processes.own_store(tmp_path / "small", max_bytes=1)
    for number in range(3):
        result = random_result(number)
        path = small.put(result)
        assert content(small.get(result.key)) == content(result)
        os.utime(path, (time.time() + jump,) * 2)
    assert [entry.key for entry in small.entries()] == [result.key]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_the_jobs_of_an_hour_are_counted_by_no_clock_on_the_wall(
    results, request_, monkeypatch, jump
):
    queue = Jobs(results, limits=Limits(per_hour=1))
    ended(queue, request_)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    with pytest.raises(InputError, match="60 min"):
        queue.submit(resolve(replace(request_, prompt="Another")), "ann")


# --- model files that go away or change


HARMS = {  # and whether the model is still in memory
    "flipped": (lambda folder: flip(folder / "model.safetensors", 99_999), False),
    "cut short": (lambda folder: os.truncate(folder / "model.safetensors", 5000), True),
    "config": (lambda folder: (folder / "config.json").write_text("{"), False),
    "all deleted": (shutil.rmtree, True),
}


def test_converted_weights_that_were_damaged_are_made_anew(tmp_path, results):
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    asked = Request("The cat sat", model=str(file), k=4)
    before = measure(asked, results, device="cpu")
    source = locate(asked)
    for name, (harm, in_memory) in HARMS.items():
        assert source.is_converted, name
        harm(source.converted)
        if not in_memory:
            loading.forget()
        assert not source.is_converted, name
        assert content(results.find(asked, resolve(asked).identity)) == content(before)
        again = measure(asked, device="cpu")
        assert numbers(again) == numbers(replace(before, key="")), name
        assert not list(source.converted.parent.glob(".*")), name


def test_weights_that_are_damaged_or_gone_are_named_and_what_is_stored_stays(of_own, own, results):
    before = measure(of_own, results, device="cpu")
    other = replace(of_own, prompt="Another")
    os.truncate(own / "model.safetensors", 5000)
    with pytest.raises(ComputeError, match=r"/model.safetensors is damaged or cut short.*anew"):
        measure(of_own, results, device="cpu")
    (own / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"/tiny has no \*.safetensors"):
        measure(other, results)
    shutil.rmtree(own)
    with pytest.raises(InputError, match="/tiny': there is no such file"):
        measure(other, results)
    assert content(results.get(before.key)) == content(before)


@pytest.mark.parametrize("stage", ["loading", "blocks"])
def test_weights_replaced_while_they_are_measured_answer_for_nobody(of_own, own, results, stage):
    other = tiny.folder(own.parent / "other", seed=1)
    new, changed = (other / "model.safetensors").read_bytes(), []

    def report(progress):
        if progress.stage == stage and not changed:
            (own / "model.safetensors").write_bytes(new)
            changed.append(stage)

    with pytest.raises(ComputeError, match="changed while they were measured"):
        measure(of_own, results, device="cpu", progress=report)
    assert changed
    assert results.entries() == []
    found = measure(of_own, results, device="cpu")
    expected = measure(replace(of_own, model=str(other)), device="cpu")
    assert (found.singular_values == expected.singular_values).all()


def test_weights_that_go_away_while_they_are_measured_answer_for_nobody(of_own, own, results):
    def report(progress):
        if progress.stage == "tracing":
            shutil.rmtree(own)

    with pytest.raises(ComputeError, match="went away while it was measured"):
        measure(of_own, results, device="cpu", progress=report)
    assert results.entries() == []
