"""A sweep on a worker of this process: what is measured, what is tried again, what is told."""

import os
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import mortal
import pandas as pd
import pytest

from coupling_core import ComputeError, InputError, Request, Store, measure, measure_many
from coupling_core.base.errors import Cancelled, PromptError
from coupling_core.base.results import Progress
from coupling_core.experiments import sweeps
from coupling_core.experiments.sweeps import clusters
from coupling_core.experiments.sweeps import worker as working
from coupling_core.experiments.sweeps.definition import parse
from coupling_core.measuring.worker import Worker

pytestmark = pytest.mark.full

PROMPTS = ("The cat sat down", "Water boils when", "One two three four", "It rains today")


@pytest.fixture
def plan(folders, tmp_path):
    """Two models, and four prompts unless others are named."""

    def plan(*texts, **changes):
        models = [{"model": str(folder), "family": "tiny"} for folder in folders]
        prompts = [{"text": text} for text in texts or PROMPTS]
        tables = {"name": "few", "k": [4, 8], "models": models, "prompts": prompts}
        return sweeps.make(parse(tables | changes, tmp_path / "few.toml"))

    return plan


@pytest.fixture
def one(plan, folders):
    """One model, and one prompt unless others are named."""
    models = [{"model": str(folders[0])}]
    return lambda *texts, **changes: plan(*texts or PROMPTS[:1], models=models, **changes)


@pytest.fixture
def planted(monkeypatch):
    """Measure by a function of the request and of how often it was tried."""
    tried: list[Request] = []

    def planted(answer):
        def instead(request, store, *, progress):
            tried.append(request)
            progress(Progress("loading"))
            answer(request, tried.count(request))
            return measure(request, store, device="cpu", progress=progress)

        monkeypatch.setattr(working, "measure", instead)
        return tried

    return planted


def refusing(error, begins="", ends=""):
    """Measures no prompt that begins so with a model whose name ends so."""

    def refuse(request, times):
        if request.prompt.startswith(begins) and request.model.endswith(ends):
            raise error

    return refuse


def failures_of(store, asked):
    return sweeps.Journal.of(store, asked.id).failures()


def test_a_table_has_what_measuring_one_by_one_gives(client, plan, store, folders):
    asked = plan(*PROMPTS[:2])
    told: list[sweeps.State] = []
    state = sweeps.run(asked, store, client, told.append)
    assert (state.total, state.stored, state.done, state.failed) == (4, 0, 4, 0)
    assert (state.ended, told[-1]) == ("done", state)
    table, left_out = sweeps.make_table(asked, store)
    assert not left_out
    alone = measure_many(PROMPTS[:2], folders, k=(4, 8), store=None, progress=False)
    numbers = ["coupling", "chance", "corrected", "alignment", "tokens", "layers", "width"]
    by = ["model", "prompt", "k"]
    found, expected = (
        of.set_index(by)[[*numbers, "certified"]].astype(float).sort_index()
        for of in (table, alone)
    )
    assert len(found) == 8
    pd.testing.assert_frame_equal(found, expected, atol=1e-6)


def test_kinds_between_tokens_and_paths_have_their_rows(client, one, store):
    asked = one(k=[5, 8], kinds=["fixed-output", "self", "trajectory"])
    sweeps.run(asked, store, client)
    table, _ = sweeps.make_table(asked, store)
    assert list(table.kind) == ["fixed-output"] * 2 + ["self"] * 2 + ["trajectory"]
    between, paths = table[table.kind != "trajectory"], table[table.kind == "trajectory"]
    assert between.corrected.notna().all()
    assert between.line_shape.isna().all()
    assert (paths.line_shape > 0).all()
    assert paths.corrected.isna().all()


def test_only_what_is_missing_is_measured(client, plan, store, planted, monkeypatch):
    started = []
    monkeypatch.setattr(clusters, "local", lambda n: started.append(n) or nullcontext(client))
    for _ in range(2):
        sweeps.run(plan(), store, workers=3, progress=False)
    assert started == [3]  # and none where nothing is to be done
    assert "stored" in sweeps.status(plan(), store).last_run
    gone = store.entries()[:3]
    for entry in gone:
        store.remove(entry.key)
    tried = planted(lambda request, times: None)
    state = sweeps.run(plan(), store, client)
    assert sorted(r.prompt for r in tried) == sorted(e.request.prompt for e in gone)
    assert (state.stored, state.done) == (5, 3)


def test_a_failure_is_tried_again_told_with_its_traceback_and_is_no_number(
    client, one, store, planted
):
    """Memory or network may refuse twice, and what comes at the third time is a result."""
    fates = {
        PROMPTS[1]: ComputeError("the disk is gone"), PROMPTS[2]: InputError("too long"),
        PROMPTS[3]: ZeroDivisionError(), "Stop": Cancelled(),
    }  # fmt: skip

    def refuse(request, times):
        if request.prompt in fates or times < 3:
            raise fates.get(request.prompt, ComputeError("memory ran out"))

    tried = planted(refuse)
    asked = one(*PROMPTS, "Stop", retries=2)
    state = sweeps.run(asked, store, client)
    assert (state.done, state.failed, state.left) == (1, 4, 0)
    failures = {failure.prompt: failure for failure in failures_of(store, asked)}
    assert set(failures) == set(fates)
    again, refused, unforeseen = (failures[PROMPTS[n]] for n in (1, 2, 3))
    assert ("disk is gone" in again.trace, again.attempts) == (True, 3)
    assert [sum(r.prompt == prompt for r in tried) for prompt in PROMPTS] == [3, 3, 1, 1]
    assert (refused.error, refused.trace) == ("too long", "")
    assert "ZeroDivisionError" in unforeseen.error
    assert "in refuse" in unforeseen.trace
    assert set(sweeps.make_table(asked, store)[0].prompt) == {PROMPTS[0]}
    found = sweeps.status(asked, store)
    assert [(model.stored, model.total) for model in found.models] == [(1, 5)]
    assert {failure.prompt for failure in found.failures} == set(fates)
    assert "5 measurements, 1 is" in found.verdict
    assert "1 measurement failed" in found.verdict


def test_what_takes_too_long_is_given_up(client, one, store, monkeypatch):
    monkeypatch.setattr("coupling_core.experiments.sweeps.running.STUCK", 600)  # on any machine
    asked = one(timeout=1e-6)
    state = sweeps.run(asked, store, client)
    assert (state.done, state.failed) == (0, 1)
    assert "1e-06 s" in failures_of(store, asked)[0].error
    assert not store.entries()


def test_the_status_counts_what_is_stored_of_each_model(plan, store):
    asked = plan()
    found = sweeps.status(asked, store.root)
    assert (found.missing, found.runs, found.last_run, found.failures) == (8, False, "", ())
    for item in [item for item in asked.items() if item.weights == 1][:3]:
        measure(item.request, store, device="cpu")
    table = sweeps.status(asked, store).to_pandas()
    assert table.model.tolist() == [weights.title for weights in asked.weights]
    assert (table.stored.tolist(), table.total.tolist()) == ([0, 3], [4, 4])
    assert len(asked.missing(str(store.root))) == len(asked.missing(store)) == 5


def test_the_status_tells_a_run_that_goes_on_and_a_model_out_of_reach(plan, store, folders):
    asked = plan(models=[{"model": str(folders[0])}, {"model": "somebody/nowhere"}])
    journal, now = sweeps.Journal.of(store, asked.id), time.time()
    journal.begin(asked.described, asked.found)
    journal.note(sweeps.State(asked.id, "few", 8, 2, 1, started=now, updated=now), now=True)
    found = sweeps.status(asked, store)
    assert found.runs
    assert found.last_run == found.state.told
    assert found.models[1].problem in found.verdict
    assert ["somebody/nowhere" in model.problem for model in found.models] == [False, True]


def test_a_model_that_always_fails_alike_is_given_up(client, plan, store, planted):
    tried = planted(refusing(InputError("no such architecture"), ends="1"))
    asked = plan(*(f"Number {i}" for i in range(12)))
    state = sweeps.run(asked, store, client)
    assert (state.done, state.failed, state.left) == (12, 12, 0)
    assert sum(request.model.endswith("1") for request in tried) < 8
    assert len(failures_of(store, asked)) == 12


def test_a_model_that_can_measure_others_is_not_given_up(client, plan, store, planted):
    sweeps.run(plan("The cat sat"), store, client)
    tried = planted(refusing(InputError("token 4 is out of range"), "a"))
    asked = plan("The cat sat", *(f"a{i}" for i in range(9)))
    state = sweeps.run(asked, store, client)
    assert (state.stored, state.done, state.failed) == (2, 0, 18)
    assert len(set(tried)) == 18


def test_faults_of_prompts_are_none_of_their_model(client, one, store, planted):
    planted(refusing(PromptError("token 4 is out of range"), "a"))
    state = sweeps.run(one(*(f"a{i}" for i in range(9)), "The dog"), store, client)
    assert (state.done, state.failed) == (1, 9)


def test_a_model_that_ends_its_process_is_named_and_the_worker_goes_on(
    client, one, store, folders, monkeypatch
):
    apart = Worker(modules=())
    monkeypatch.setattr(working, "measure", partial(apart.measure, by=mortal.measure))
    fates = ("by the fast way: exit with 1", "die of SIGSEGV")
    asked = one(*fates, retries=0)
    try:
        state = sweeps.run(asked, store, client)
    finally:
        apart.close()
    assert (state.done, state.failed) == (1, 1)
    (failure,) = failures_of(store, asked)
    assert failure.prompt == fates[1]
    assert "SIGSEGV" in failure.error
    assert str(folders[0]) in failure.error
    assert [entry.request.prompt for entry in store.entries()] == [fates[0]]


def test_a_worker_that_does_not_see_the_store_ends_the_sweep(client, one, store, monkeypatch):
    elsewhere = property(lambda self: self.folder / "elsewhere.json")
    monkeypatch.setattr(sweeps.Journal, "witness", elsewhere)
    monkeypatch.setattr(sweeps.Journal, "begin", lambda *_: None)
    with pytest.raises(ComputeError, match=r"elsewhere\.json"):
        sweeps.run(one(), store, client)


def test_a_sweep_that_runs_is_not_run_twice(client, one, store):
    asked = one()
    journal = sweeps.Journal.of(store, asked.id)
    journal.begin(asked.described, asked.found)
    parent = os.getppid()
    state = sweeps.State(asked.id, "few", 8, 0, started=time.time() + 5, pid=parent)
    journal.note(state, now=True)
    with pytest.raises(InputError, match=f"process {parent}"):
        sweeps.run(asked, store, client)
    journal.note(replace(state, pid=2**22 + 1), now=True)  # killed: it has noted no end
    assert not journal.state().runs
    assert sweeps.run(asked, store, client).done == 1


def test_the_stopping_of_a_sweep_is_noted(client, plan, store):
    def stop(state):
        if state.done:
            raise KeyboardInterrupt

    asked = plan()
    with pytest.raises(KeyboardInterrupt):
        sweeps.run(asked, store, client, stop)
    noted = sweeps.Journal.of(store, asked.id).state()
    assert noted.ended == "stopped"
    assert 0 < noted.done < 8
    assert not noted.runs


def test_results_without_a_score_are_named_and_leave_the_others_their_rows(
    client, one, store, monkeypatch
):
    """Damaged, doubtful, without the floor that is asked for, gone while the table is made."""
    asked = one(*PROMPTS, "The dog lay down", definition="preprint", k=[5])
    sweeps.run(asked, store, client)
    damaged, without, doubtful, gone, sound = asked.stored(store)
    (path,) = [entry.path for entry in store.entries() if entry.key == damaged]
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(bytes(content))
    found = store.get(without)
    floors = {"chance": found.chance[:0], "chance_error": found.chance_error[:0]}
    store.put(replace(found, sampled=(), **floors))
    found = store.get(doubtful)
    unaware = dict(found.provenance) | {"ways": {"one token over a cache": 4}}
    store.put(replace(found, jacobian_norm=found.jacobian_norm * 1e-9, provenance=unaware))
    get = Store.get

    def too_late(store, key):
        if key == gone:
            store.remove(key)
        return get(store, key)

    monkeypatch.setattr(Store, "get", too_late)
    table, left_out = sweeps.make_table(asked, store)
    assert set(left_out) == {damaged, without, doubtful}
    assert "float32" in left_out[doubtful]
    assert list(table.key) == [sound]
    assert len(asked.missing(store)) == 1


def test_journals_are_found_and_damaged_notes_pass_for_none(client, one, store):
    asked = one()
    sweeps.run(asked, store, client)
    (journal,) = [found for found in sweeps.journals(store) if found.folder.name == asked.id]
    assert journal.plan()["origins"][0]["source"] == "text"
    for name in ("state.json", "failures.json", "plan.json"):
        for text in ("", "{", "[]", "null", '{"pid": 1}', "[1]"):
            (journal.folder / name).write_text(text)
            assert journal.state() is None or name != "state.json"
            journal.failures()
            journal.plan()


def test_workers_that_hang_and_cannot_be_started_anew_end_the_sweep(
    client, plan, store, planted, monkeypatch
):
    awake = threading.Event()
    monkeypatch.setattr("coupling_core.experiments.sweeps.running.STUCK", 0.5)
    planted(lambda request, times: awake.wait(60))
    asked = plan(timeout=0.2)  # with some left that no worker can take
    try:
        with pytest.raises(ComputeError):
            sweeps.run(asked, store, client)
    finally:
        awake.set()
        client.submit(bool, pure=False).result(60)  # behind what the worker still had to do
    (failure,) = failures_of(store, asked)
    assert "hung" in failure.error
    assert "hangs" in sweeps.Journal.of(store, asked.id).state().ended


def test_a_result_of_other_weights_is_a_failure(client, one, store):
    asked = one()
    other = replace(asked.weights[0], identity={**asked.weights[0].identity, "digest": "0" * 64})
    state = sweeps.run(replace(asked, weights=(other,)), store, client)
    assert (state.done, state.failed) == (0, 1)
    assert "other weights" in failures_of(store, asked)[0].error


def test_workers_that_are_all_gone_are_not_waited_for_without_end(plan, store, monkeypatch):
    from dask.distributed import Client

    monkeypatch.setattr("coupling_core.experiments.sweeps.running.GONE", 0.5)
    monkeypatch.setattr(working, "measure", lambda *_, **__: time.sleep(0.2))
    with Client(processes=False, n_workers=1, dashboard_address=None) as own:
        retired = []

        def retire(state):
            if state.workers and not retired:
                retired.append(own.retire_workers(list(own.scheduler_info()["workers"])))

        with pytest.raises(ComputeError, match="workers are gone"):
            sweeps.run(plan(), store, own, retire)


def test_a_connection_that_breaks_at_any_moment_is_told_in_words(client, one, store, monkeypatch):
    def broken(*_, **__):
        raise OSError("stream is closed")

    monkeypatch.setattr(type(client), "submit", broken)
    asked = one()
    with pytest.raises(ComputeError, match="scheduler is gone"):
        sweeps.run(asked, store, client)
    assert "scheduler is gone" in sweeps.Journal.of(store, asked.id).state().ended
