"""The engine in a process that really dies: whose job fails, what is told, and what goes on."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import mortal
import psutil
import pytest
import tiny
from cases import content, random_result
from waiting import PATIENCE, end_of, until

from coupling_core import ComputeError, Request, Store, measure
from coupling_core.base.errors import Cancelled
from coupling_core.measuring import deaths
from coupling_core.measuring.worker import Worker, process, serving
from coupling_core.serving.heartbeat import EVERY, file_of, problem
from coupling_core.serving.jobs import Jobs, JobStatus
from coupling_core.sources.resolved import resolve

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results", gallery=tmp_path / "none")


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["MortalForCausalLM"]}')
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def ask(model):
    return lambda prompt: Request(prompt, model=str(model), k=8, k_view=4)


@pytest.fixture
def worker():
    """One that imports no torch, which takes seconds."""
    made = Worker(modules=(), grace=1.0)
    yield made
    made.close()


@pytest.fixture
def jobs(store, worker):
    return Jobs(store, partial(worker.measure, by=mortal.measure), forget=worker.forget)


def begun(jobs: Jobs, key: str) -> JobStatus:
    """The status of a job once it is at its last step, and has a result so far."""

    def is_there(status):
        progress = status.progress
        return progress and progress.partial and progress.done == mortal.BLOCKS

    return until(lambda: is_there(s := jobs.status(key)) and s)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


# --- what a worker does


def test_a_job_runs_in_another_process_and_its_result_is_in_the_store(jobs, store, worker, ask):
    key = jobs.submit(resolve(ask("as it is")), "ann").key
    partial_result = begun(jobs, key).progress.partial
    assert partial_result.request == ask("as it is")
    assert worker.pid not in (None, os.getpid())
    done = end_of(jobs, key)
    assert (done.state, done.stored, done.error) == ("done", key, "")
    assert content(store.get(key)) == content(replace(partial_result, key=key))
    assert problem(store) == ""


def test_one_process_serves_all_jobs(jobs, worker, ask):
    end_of(jobs, jobs.submit(resolve(ask("one")), "ann").key)
    pid = worker.pid
    end_of(jobs, jobs.submit(resolve(ask("two")), "ann").key)
    assert worker.pid == pid


@pytest.mark.parametrize(
    ("prompt", "words", "place"),
    [
        ("refuse", "no room: make some", ""),
        ("fail to see", "not foreseen (ValueError: to see)", "in do"),
    ],
    ids=["plain", "unforeseen"],
)
def test_what_is_raised_there_is_told_as_if_it_were_here(jobs, ask, caplog, prompt, words, place):
    failed = end_of(jobs, jobs.submit(resolve(ask(prompt)), "ann").key)
    assert (failed.state, words in failed.error) == ("failed", True)
    assert failed.progress.partial is not None
    unforeseen = [r for r in caplog.records if r.exc_info]
    assert len(unforeseen) == bool(place)
    assert all(place in "".join(r.exc_info[1].__notes__) for r in unforeseen)


# --- death


@pytest.mark.parametrize(
    ("prompt", "how"),
    [
        ("die of SIGSEGV", "SIGSEGV while it computed with {}, a fault inside the libraries"),
        ("exit with 3", "exit status 3 while it computed with {}, a fault inside"),
        ("die of SIGKILL", "SIGKILL while it computed with {}, as the system does where memory"),
        ("die of SIGTERM", "SIGTERM while it computed with {}, from outside"),
    ],
    ids=lambda value: value.split()[-1] if "{}" not in value else "",
)
def test_a_death_fails_its_job_and_no_other(jobs, store, worker, ask, model, prompt, how):
    store.put(random_result())
    key, other = (
        jobs.submit(resolve(ask(text)), who).key for text, who in ((prompt, "ann"), ("x", "bob"))
    )
    failed = end_of(jobs, key)
    assert failed.state == "failed"
    assert how.format(model) in failed.error
    assert failed.progress.partial is not None
    assert end_of(jobs, other).state == "done"
    assert [store.verify(entry.key) for entry in store.entries()] == ["", ""]
    assert problem(store) == ""
    assert worker.pid is not None


def test_what_dies_by_the_fast_way_is_tried_once_more_by_the_definition(jobs, ask):
    key = jobs.submit(resolve(ask("by the fast way: exit with 1")), "ann").key
    assert end_of(jobs, key).state == "done"
    assert deaths.reason(resolve(ask("another prompt")))


def test_what_the_system_kills_is_no_reason_to_leave_the_fast_way(jobs, ask):
    """By the definition it would take more memory still."""
    assert end_of(jobs, jobs.submit(resolve(ask("die of SIGKILL")), "ann").key).state == "failed"
    assert deaths.reason(resolve(ask("another prompt"))) == ""


def test_a_model_that_killed_one_is_measured_by_the_definition_and_says_why(tmp_path, store):
    folder = tiny.folder(tmp_path / "tiny")
    asked = Request("The cat sat", model=str(folder), k=4)
    worker = Worker(modules=())
    try:
        found = worker.measure(asked, store, device="cpu", by=mortal.measure_really)
    finally:
        worker.close()
    assert found.provenance["fast"] is False
    told = "the fast way ended the process that measured LlamaForCausalLM (SIGSEGV)"
    assert found.provenance["why_not_fast"] == told
    again = measure(replace(asked, prompt="Another"), device="cpu")
    assert again.provenance["why_not_fast"] == told
    (note,) = (tmp_path / "home" / "deaths").iterdir()
    note.unlink()
    plainly = measure(asked, device="cpu")
    assert "fast" not in plainly.provenance
    assert found.singular_values == pytest.approx(plainly.singular_values, rel=1e-4)


def test_another_version_of_torch_is_tried_by_the_fast_way_again(ask, monkeypatch):
    assert deaths.note(resolve(ask("x")), "SIGSEGV")
    assert not deaths.note(resolve(ask("x")), "SIGSEGV")
    assert "(SIGSEGV)" in deaths.reason(resolve(ask("y")))
    monkeypatch.setattr(deaths, "version", lambda name: "99")
    assert deaths.reason(resolve(ask("y"))) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_note_that_cannot_be_read_is_none(ask, tmp_path, text):
    deaths.note(resolve(ask("x")), "SIGSEGV")
    (note,) = (tmp_path / "home" / "deaths").iterdir()
    note.write_text(text)
    assert deaths.reason(resolve(ask("x"))) == ""


def test_a_job_that_another_call_ended_is_done_all_the_same(jobs, worker, ask):
    """A page that asks what a model is may end the process too."""
    key = jobs.submit(resolve(ask("as it is")), "ann").key
    begun(jobs, key)
    with pytest.raises(ComputeError, match=r"ended by SIGSEGV while it computed, a fault"):
        worker.call(partial(mortal.do, ["die", "of", "SIGSEGV"]))
    assert end_of(jobs, key).state == "done"
    assert deaths.reason(resolve(ask("as it is"))) == ""


def test_a_death_is_told_though_it_left_words_unread(jobs, worker, ask):
    key = jobs.submit(resolve(ask("hold everything up")), "ann").key
    begun(jobs, key)
    time.sleep(0.5)
    answers = []
    question = threading.Thread(target=lambda: answers.append(worker.call(os.getpid)))
    question.start()
    time.sleep(0.2)
    os.kill(stuck := worker.pid, signal.SIGKILL)
    assert "ended by SIGKILL" in end_of(jobs, key).error
    question.join(PATIENCE)
    assert answers == [worker.pid]  # of the next one: it had not begun
    assert worker.pid != stuck


def test_a_worker_that_is_stuck_gives_no_sign_of_life(jobs, store, ask):
    key = jobs.submit(resolve(ask("sleep")), "ann").key
    begun(jobs, key)
    noted = file_of(store.root, os.getpid()).read_text()
    time.sleep(2 * EVERY)
    assert file_of(store.root, os.getpid()).read_text() == noted
    jobs.leave(key, "ann")


def test_a_question_to_a_process_that_hangs_is_answered_by_another(worker, monkeypatch):
    monkeypatch.setattr(process, "SILENT", 6)
    pid = worker.call(os.getpid)
    os.kill(pid, signal.SIGSTOP)
    assert worker.call(os.getpid) == worker.pid != pid
    assert gone(pid)


def test_what_takes_long_is_not_taken_to_hang(worker, monkeypatch):
    monkeypatch.setattr(process, "SILENT", 4)
    pid = worker.call(os.getpid)
    assert worker.call(partial(mortal.slowly, 5.0)) == "answered"
    assert worker.pid == pid


def test_a_job_that_holds_everything_up_fails_and_others_are_answered(
    jobs, worker, ask, monkeypatch
):
    monkeypatch.setattr(process, "SILENT", 6)
    key = jobs.submit(resolve(ask("hold everything up")), "ann").key
    begun(jobs, key)
    assert worker.call(os.getpid)
    job = end_of(jobs, key)
    assert (job.state, "because it no longer answered" in job.error) == ("failed", True)
    assert worker.call(os.getpid) == worker.pid


# --- leaving


def test_what_nobody_waits_for_ends_at_its_next_step(store, worker, ask):
    waiting = Jobs(store, partial(_wait, worker))
    key = waiting.submit(resolve(ask("x")), "ann").key
    until(lambda: (p := waiting.status(key).progress) and p.done > 3)
    pid = worker.pid
    waiting.leave(key, "ann")
    assert end_of(waiting, key).state == "cancelled"
    assert worker.call(os.getpid) == worker.pid == pid


def _wait(worker, request, store, *, device, progress):
    return worker.call(mortal.waits, progress=progress)


@pytest.mark.parametrize("fate", ["sleep", "hold everything up"])
def test_what_is_stuck_in_one_step_is_ended_after_a_while(jobs, worker, ask, fate):
    key, other = (
        jobs.submit(resolve(ask(text)), who).key for text, who in ((fate, "ann"), ("x", "bob"))
    )
    begun(jobs, key)
    stuck = worker.pid
    jobs.leave(key, "ann")
    cancelled = end_of(jobs, key)
    assert (cancelled.state, cancelled.progress.partial is not None) == ("cancelled", True)
    assert end_of(jobs, other).state == "done"
    assert gone(stuck)
    assert deaths.reason(resolve(ask(fate))) == ""


def test_a_question_outlives_the_process_that_is_ended_for_another(jobs, worker, ask):
    key = jobs.submit(resolve(ask("sleep")), "ann").key
    begun(jobs, key)
    answers = []
    question = threading.Thread(
        target=lambda: answers.append(worker.call(partial(mortal.slowly, 2.0)))
    )
    question.start()
    time.sleep(0.1)
    jobs.leave(key, "ann")
    question.join(PATIENCE)
    assert answers == ["answered"]


def test_an_error_of_whoever_watches_stops_the_call(worker):
    def watch(progress):
        raise Cancelled("enough")

    pid = worker.call(os.getpid)
    with pytest.raises(Cancelled, match="enough"):
        worker.call(mortal.waits, progress=watch)
    assert worker.call(os.getpid) == pid


# --- no orphans


APP = """
import sys, time
from functools import partial
import mortal
from coupling_core import Request, Store
from coupling_core.serving.jobs import Jobs
from coupling_core.measuring.worker import Worker
from coupling_core.sources.resolved import resolve

worker = Worker(modules=())
jobs = Jobs(Store(), partial(worker.measure, by=mortal.measure))
key = jobs.submit(resolve(Request(sys.argv[2], model=sys.argv[1], k=8, k_view=4)), "ann").key
while not (worker.pid and jobs.status(key).progress and jobs.status(key).progress.done == 3):
    time.sleep(0.01)
print(worker.pid, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit("stopped")
"""


@pytest.mark.parametrize(
    ("how", "prompt"),
    [
        (signal.SIGKILL, "hold everything up"),
        (signal.SIGTERM, "sleep"),
        (signal.SIGINT, "sleep"),
    ],
    ids=["SIGKILL", "SIGTERM", "SIGINT"],
)
def test_the_worker_ends_with_the_app_however_that_ends(model, how, prompt):
    tests = str(ROOT / "tests" / "support")
    app = subprocess.Popen(
        [sys.executable, "-c", APP, model, prompt],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([tests, str(ROOT)])},
        start_new_session=True,
    )
    pid = int(app.stdout.readline())
    time.sleep(0.3)  # until it is where it gets stuck
    os.killpg(app.pid, how)  # as Ctrl-C does
    _, said = app.communicate(timeout=PATIENCE)
    until(lambda: gone(pid))
    assert said == ("stopped\n" if how == signal.SIGINT else "")


# --- logs


LOGGED = """
import sys, time
from functools import partial
import mortal
from coupling_core import Request, Store
from coupling_core.base import logs
from coupling_core.serving.jobs import Jobs
from coupling_core.measuring.worker import Worker
from coupling_core.sources.resolved import resolve

logs.set_up()
worker = Worker(modules=())
jobs = Jobs(Store(), partial(worker.measure, by=mortal.measure))
for prompt in sys.argv[2:]:
    key = jobs.submit(resolve(Request(prompt, model=sys.argv[1], k=8, k_view=4)), "ann").key
    while jobs.status(key).state in ("queued", "running"):
        time.sleep(0.01)
"""


def test_the_log_tells_of_deaths_in_one_place_and_quotes_no_prompt(model, tmp_path):
    prompts = ("by the fast way: die of SIGSEGV", "fail at a secret")
    ran = subprocess.run(
        [sys.executable, "-c", LOGGED, model, *prompts],
        capture_output=True,
        text=True,
        env=os.environ
        | {"PYTHONPATH": f"{ROOT / 'tests' / 'support'}{os.pathsep}{ROOT}", "COUPLING_LOG": "json"},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    (died,) = [line for line in lines if line["message"].startswith("a worker died")]
    assert (died["model"], died["message"][-7:], died["kind"]) == (str(model), "SIGSEGV", "depth")
    assert "mortal.py" in died["raised"]
    (failed,) = [line for line in lines if line["message"] == "A measurement failed"]
    assert (failed["error"], "in do" in failed["raised"]) == ("ValueError", True)
    assert "secret" not in ran.stderr
    assert "fast way:" not in ran.stderr


# --- the model that is ready before anybody asks


def test_a_model_on_this_disk_is_made_ready_and_nothing_is_fetched_or_converted(
    tmp_path, store, monkeypatch
):
    folder, file = tiny.folder(tmp_path / "tiny"), tiny.gguf_file(tmp_path / "tiny.gguf")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    worker = Worker(modules=())
    try:
        for model in (str(file), "nobody/nothing", str(folder)):
            worker.prepare(Request("-", model=model), "cpu")
        kept = until(partial(worker.call, mortal.kept))
        assert kept == [str(folder)]
        found = worker.measure(Request("The cat", model=str(folder), k=4), store, device="cpu")
        assert found.provenance["load_seconds"] == 0
        assert not (tmp_path / "home" / "models").exists()
    finally:
        worker.close()


# --- the real thing


def switch(path):
    """A folder of a tiny Switch Transformer, its experts run as they are by default."""
    from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration

    shape = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_heads": 4, "vocab_size": 300}
    layers = {"num_layers": 4, "num_decoder_layers": 4, "num_experts": 4}
    config = SwitchTransformersConfig(**shape, **layers, decoder_start_token_id=0)
    SwitchTransformersForConditionalGeneration(config).save_pretrained(path)
    tiny.tokenizer().save_pretrained(path)
    return path


def test_a_decoder_of_switch_is_measured_or_refused_whatever_it_does_to_its_process(
    tmp_path, store
):
    folder = switch(tmp_path / "switch")
    jobs = Jobs(store, (worker := Worker()).measure)
    asked = Request((1, 2, 3), model=str(folder), k=4, stack="decoder")
    try:
        ended = end_of(jobs, jobs.submit(resolve(asked), "ann", "cpu").key)
        assert ended.state == "done" or "switch" in ended.error.lower(), ended.error
        small = Request((1, 2), model=str(tiny.folder(tmp_path / "tiny")), k=4)
        assert end_of(jobs, jobs.submit(resolve(small), "ann", "cpu").key).state == "done"
    finally:
        worker.close()


# --- what it leaves to others


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux")
def test_what_measures_gives_way_and_what_answers_pages_does_not(worker):
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert worker.call(mortal.priority) == own
    assert worker.call(mortal.priority, progress=lambda _: None) == max(own, serving.NICE)


def test_a_process_without_memory_to_say_so_is_not_blamed_on_its_model(jobs, ask):
    words = f"exit with {serving.NO_MEMORY}"
    failed = end_of(jobs, jobs.submit(resolve(ask(words)), "ann").key)
    assert "a lack of memory while it computed" in failed.error
    assert deaths.reason(resolve(ask("another"))) == ""
