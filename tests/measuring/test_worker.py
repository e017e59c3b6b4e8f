"""The engine in a process that really dies: whose job fails, what is told, and what goes on."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import hasty
import mortal
import pytest
import tiny
from cases import content, random_result
from waiting import PATIENCE, end_of, until

from coupling_core import ComputeError, Request, measure
from coupling_core.base.errors import Cancelled
from coupling_core.measuring import deaths
from coupling_core.measuring.worker import Worker, serving, small
from coupling_core.serving import heartbeat
from coupling_core.serving.heartbeat import file_of, problem
from coupling_core.serving.jobs import Jobs, JobStatus
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """One for all tests, since one worker is: without what an earlier one noted."""
    place = tmp_path_factory.getbasetemp() / "home of the worker"
    monkeypatch.setenv("COUPLING_HOME", str(place))
    hasty.listen(monkeypatch)
    yield place
    shutil.rmtree(place / "deaths", ignore_errors=True)


@pytest.fixture(scope="module")
def worker():
    """One that imports no torch, which takes seconds; it has a new process after each death."""
    made = Worker(hasty.MODULES, grace=0.3)
    yield made
    made.close()


@pytest.fixture
def jobs(store, worker):
    return Jobs(store, partial(worker.measure, by=mortal.measure), forget=worker.forget)


def submit(jobs: Jobs, request: Request, who: str = "ann") -> str:
    return jobs.submit(resolve(request), who, "cpu").key


def begun(jobs: Jobs, key: str) -> JobStatus:
    """The status of a job once it is at its last step, and has a result so far."""

    def is_there(status):
        progress = status.progress
        return progress and progress.partial and progress.done == mortal.BLOCKS

    return until(lambda: is_there(s := jobs.status(key)) and s)


# --- what a worker does


def test_jobs_run_in_another_process_and_their_results_are_in_the_store(
    jobs, store, worker, ask, tmp_path
):
    asked = ask(f"wait for {tmp_path / 'go'}")
    key = submit(jobs, asked)
    partial_result = begun(jobs, key).progress.partial
    assert partial_result.request == asked
    assert (pid := worker.pid) not in (None, os.getpid())
    (tmp_path / "go").touch()
    done = end_of(jobs, key)
    assert (done.state, done.stored, done.error) == ("done", key, "")
    assert content(store.get(key)) == content(replace(partial_result, key=key))
    assert problem(store) == ""
    end_of(jobs, submit(jobs, ask("two")))
    assert worker.pid == pid


@pytest.mark.parametrize(
    ("prompt", "words", "unforeseen"),
    [("refuse", "no room: make some", 0), ("fail to see", "(ValueError: to see)", 1)],
    ids=["plain", "unforeseen"],
)
def test_what_is_raised_there_is_told_as_if_it_were_here(
    jobs, ask, caplog, prompt, words, unforeseen
):
    failed = end_of(jobs, submit(jobs, ask(prompt)))
    assert (failed.state, words in failed.error) == ("failed", True)
    assert failed.progress.partial is not None
    notes = [str(r.exc_info[1].__notes__) for r in caplog.records if r.exc_info]
    assert ["in do" in each for each in notes] == [True] * unforeseen


# --- death


def test_a_death_fails_its_job_and_no_other(jobs, store, worker, ask, mortal_folder):
    store.put(random_result())
    key, other = submit(jobs, ask("die of SIGSEGV")), submit(jobs, ask("x"), "bob")
    failed = end_of(jobs, key)
    why = f"SIGSEGV while it computed with {mortal_folder}, a fault inside the libraries"
    assert (failed.state, why in failed.error) == ("failed", True)
    assert failed.progress.partial is not None
    assert end_of(jobs, other).state == "done"
    assert [store.verify(entry.key) for entry in store.entries()] == ["", ""]
    assert problem(store) == ""
    assert worker.pid is not None


def test_what_dies_by_the_fast_way_is_tried_once_more_by_the_definition(jobs, ask):
    assert end_of(jobs, submit(jobs, ask("by the fast way: exit with 1"))).state == "done"
    assert "(exit status 1)" in deaths.reason(resolve(ask("another prompt")))


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ("die of SIGKILL", "SIGKILL while it computed with {}, as the system does where memory"),
        ("die of SIGTERM", "SIGTERM while it computed with {}, from outside"),
        (f"exit with {serving.NO_MEMORY}", "a lack of memory while it computed"),
    ],
    ids=lambda value: value.split()[-1] if "while" not in value else "",
)
def test_what_others_end_is_no_reason_to_leave_the_fast_way(jobs, ask, mortal_folder, fate, why):
    """By the definition it would take more memory still."""
    failed = end_of(jobs, submit(jobs, ask(fate)))
    assert failed.state == "failed"
    assert why.format(mortal_folder) in failed.error
    assert deaths.notes() == []


def test_a_model_that_killed_one_is_measured_by_the_definition_and_says_why(folder):
    asked = Request("The cat sat", model=str(folder), k=4)
    plainly = measure(asked, device="cpu")
    assert "fast" not in plainly.provenance
    assert deaths.note(resolve(asked), "SIGSEGV")
    found = measure(asked, device="cpu")
    assert found.provenance["fast"] is False
    told = "the fast way ended the process that measured LlamaForCausalLM (SIGSEGV)"
    assert found.provenance["why_not_fast"] == told
    assert found.singular_values == pytest.approx(plainly.singular_values, rel=1e-4)


def test_another_version_of_torch_is_tried_again_and_a_note_that_cannot_be_read_is_none(
    ask, home, monkeypatch
):
    assert deaths.note(resolve(ask("x")), "SIGSEGV")
    assert not deaths.note(resolve(ask("x")), "SIGSEGV")
    assert "(SIGSEGV)" in deaths.reason(resolve(ask("y")))
    with monkeypatch.context() as later:
        later.setattr(deaths, "version", lambda name: "99")
        assert deaths.reason(resolve(ask("y"))) == ""
    (note,) = (home / "deaths").iterdir()
    for text in ("", "{", "[]", "{}"):
        note.write_text(text)
        assert (deaths.reason(resolve(ask("x"))), deaths.notes()) == ("", [])


def test_a_job_that_another_call_ended_is_done_all_the_same(jobs, worker, ask, tmp_path):
    """A page that asks what a model is may end the process too."""
    asked = ask(f"wait for {tmp_path / 'go'}")
    key = submit(jobs, asked)
    begun(jobs, key)
    with pytest.raises(ComputeError, match=r"ended by SIGSEGV while it computed, a fault"):
        worker.call(partial(mortal.do, ["die", "of", "SIGSEGV"]))
    (tmp_path / "go").touch()
    assert end_of(jobs, key).state == "done"
    assert deaths.reason(resolve(asked)) == ""


def test_a_death_is_told_though_it_left_words_unread(jobs, worker, ask):
    key = submit(jobs, ask("hold everything up"))
    begun(jobs, key)
    time.sleep(0.2)  # until it is where it gets stuck
    answers = []
    question = threading.Thread(target=lambda: answers.append(worker.call(os.getpid)))
    question.start()
    time.sleep(0.1)
    os.kill(stuck := worker.pid, signal.SIGKILL)
    assert "ended by SIGKILL" in end_of(jobs, key).error
    question.join(PATIENCE)
    assert answers == [worker.pid]  # of the next one: it had not begun
    assert worker.pid != stuck


def test_a_job_that_holds_everything_up_fails_and_others_are_answered(
    jobs, worker, ask, monkeypatch
):
    key = submit(jobs, ask("hold everything up"))
    begun(jobs, key)
    stuck = worker.pid
    time.sleep(0.2)  # until it is where it gets stuck
    hasty.listen(monkeypatch, silent=5)
    assert worker.call(os.getpid) == worker.pid != stuck
    job = end_of(jobs, key)
    assert (job.state, "because it no longer answered" in job.error) == ("failed", True)
    assert mortal.gone(stuck)


def test_what_takes_long_is_not_taken_to_hang(worker, monkeypatch):
    pid = worker.call(os.getpid)
    hasty.listen(monkeypatch, silent=8)
    worker.call(partial(time.sleep, 1.2))
    assert worker.pid == pid


# --- leaving


def test_what_nobody_waits_for_ends_at_its_next_step(store, worker, ask):
    waiting = Jobs(store, partial(worker.measure, by=mortal.waits))
    key = submit(waiting, ask("x"))
    until(lambda: (p := waiting.status(key).progress) and p.done > 3)
    pid = worker.pid
    waiting.leave(key, "ann")
    assert end_of(waiting, key).state == "cancelled"
    assert worker.call(os.getpid) == worker.pid == pid


def test_a_job_that_is_stuck_gives_no_sign_of_life_and_its_end_loses_no_question(
    jobs, store, worker, ask, tmp_path, monkeypatch
):
    """One that holds all threads up is left in attack/test_bounded_worker.py."""
    monkeypatch.setattr(heartbeat, "EVERY", 0.1)
    key, other = submit(jobs, ask("sleep")), submit(jobs, ask("x"), "bob")
    begun(jobs, key)
    time.sleep(heartbeat.EVERY)
    stuck, noted = worker.pid, file_of(store.root, os.getpid()).read_text()
    time.sleep(4 * heartbeat.EVERY)
    assert file_of(store.root, os.getpid()).read_text() == noted
    answers, mark = [], tmp_path / "it was asked"
    again = partial(mortal.the_second_time, mark)
    question = threading.Thread(target=lambda: answers.append(worker.call(again)))
    question.start()
    until(mark.exists)
    jobs.leave(key, "ann")
    question.join(PATIENCE)
    assert answers == [worker.pid] != [stuck]
    cancelled = end_of(jobs, key)
    assert (cancelled.state, cancelled.progress.partial is not None) == ("cancelled", True)
    assert end_of(jobs, other).state == "done"
    assert mortal.gone(stuck)
    assert deaths.notes() == []


def test_an_error_of_whoever_watches_stops_the_call(worker):
    def watch(progress):
        raise Cancelled("enough")

    pid = worker.call(os.getpid)
    with pytest.raises(Cancelled, match="enough"):
        worker.call(mortal.waits, progress=watch)
    assert worker.call(os.getpid) == pid


# --- apps of their own


APP = """
import sys, time
from functools import partial
import hasty, mortal
from coupling_core import Request, Store
from coupling_core.base import logs
from coupling_core.serving.jobs import Jobs
from coupling_core.measuring.worker import Worker
from coupling_core.sources.resolved import resolve

logs.set_up()
worker = Worker(hasty.MODULES)
jobs = Jobs(Store(), partial(worker.measure, by=mortal.measure))
def submit(prompt):
    return jobs.submit(resolve(Request(prompt, model=sys.argv[1], k=8, k_view=4)), "ann").key
"""
STUCK = """
key = submit(sys.argv[2])
while not (worker.pid and (at := jobs.status(key).progress) and at.done == 3):
    time.sleep(0.01)
print(worker.pid, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit("stopped")
"""
FAILING = """
for prompt in sys.argv[2:]:
    key = submit(prompt)
    while jobs.status(key).state in ("queued", "running"):
        time.sleep(0.01)
"""


def app(script: str, *arguments: object, log: str = "text") -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT / "tests" / "support"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-c", APP + script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "COUPLING_LOG": log},
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("how", "prompt"),
    [(signal.SIGKILL, "hold everything up"), (signal.SIGINT, "sleep")],
    ids=["SIGKILL", "SIGINT"],
)
def test_the_worker_ends_with_the_app_however_that_ends(mortal_folder, how, prompt):
    process = app(STUCK, mortal_folder, prompt)
    pid = int(process.stdout.readline())
    time.sleep(0.3)  # until it is where it gets stuck
    os.killpg(process.pid, how)  # as Ctrl-C does
    _, said = process.communicate(timeout=PATIENCE)
    until(lambda: mortal.gone(pid))
    assert said == ("stopped\n" if how == signal.SIGINT else "")


def test_the_log_tells_of_deaths_in_one_place_and_quotes_no_prompt(mortal_folder):
    process = app(
        FAILING, mortal_folder, "by the fast way: die of SIGSEGV", "fail at a secret", log="json"
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, ""), err
    lines = [json.loads(line) for line in err.splitlines()]
    (died,) = [line for line in lines if line["message"].startswith("a worker died")]
    told = (died["model"], died["message"][-7:], died["kind"])
    assert told == (str(mortal_folder), "SIGSEGV", "depth")
    assert "mortal.py" in died["raised"]
    (failed,) = [line for line in lines if line["message"] == "A measurement failed"]
    assert (failed["error"], "in do" in failed["raised"]) == ("ValueError", True)
    assert "secret" not in err
    assert "fast way:" not in err


# --- the real thing


@pytest.fixture(scope="module")
def real():
    made = Worker(modules=())
    yield made
    made.close()


def test_a_model_on_this_disk_is_made_ready_and_nothing_is_fetched_or_converted(
    tmp_path, store, home, folder, real, monkeypatch
):
    file = tiny.gguf_file(tmp_path / "tiny.gguf")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for model in (str(file), "nobody/nothing", str(folder)):
        real.prepare(Request("-", model=model), "cpu")
    assert until(partial(real.call, mortal.kept)) == [str(folder)]
    found = real.measure(Request("The cat", model=str(folder), k=4), store, device="cpu")
    assert found.provenance["load_seconds"] == 0
    assert real.call(gc.get_freeze_count) > 100_000  # torch, which it imported, has more
    assert not (home / "models").exists()
    files = resolve(found.request).files
    real.forget(files.location, files.digest)
    assert real.call(mortal.kept) == []


def test_weights_cut_short_under_a_measurement_do_not_end_the_process(tmp_path, folder, real):
    pid = real.call(os.getpid)
    own = shutil.copytree(folder, tmp_path / "own")
    asked = Request("The cat sat", model=str(own), k=4)
    with pytest.raises(ComputeError, match="the files of"):
        real.call(partial(mortal.measure_what_is_cut_short, asked), about=asked)
    assert real.call(os.getpid) == pid


# --- what it leaves to others


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux")
def test_what_measures_gives_way_and_what_answers_pages_does_not(worker):
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert worker.call(mortal.priority) == own
    assert worker.call(mortal.priority, progress=lambda _: None) == max(own, serving.NICE)


# --- the small one, without torch


def test_a_small_call_that_dies_takes_too_much_or_never_ends_gives_none_and_the_next_is_answered(
    request, monkeypatch
):
    request.addfinalizer(small._process.close)
    assert small.run(partial(os.kill, 0, signal.SIGABRT)) is None
    assert small.run(os.getpid) not in (None, os.getpid())
    assert small.run(partial(bytearray, small.MEMORY // 100)) is not None
    assert small.run(partial(bytearray, small.MEMORY)) is None
    monkeypatch.setattr(small, "SECONDS", 0.1)
    assert small.run(partial(time.sleep, 2 * PATIENCE)) is None
