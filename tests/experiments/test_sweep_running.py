"""A sweep on a worker of this process: what is measured, what is tried again, what is told."""

import inspect
import json
import os
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import mortal
import numpy as np
import pytest
import tiny

from coupling_core import ComputeError, InputError, Request, Store, View, measure
from coupling_core.analysis.scores import means, score_pairs
from coupling_core.base.errors import Cancelled, PromptError
from coupling_core.base.results import Progress
from coupling_core.experiments.sweeps import (
    Journal,
    State,
    journals,
    make,
    make_table,
    read_table,
    run,
    status,
    write_table,
)
from coupling_core.experiments.sweeps import worker as working
from coupling_core.experiments.sweeps.definition import parse
from coupling_core.measuring.worker import Worker
from coupling_core.store.disk import as_store

PROMPTS = ("The cat sat down", "Water boils when", "One two three four", "It rains today")


@pytest.fixture(scope="module")
def client():
    """A worker in a thread of this process; two would share one model in memory."""
    from dask.distributed import Client

    one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(processes=False, **one) as client:
        yield client


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    return [tiny.folder(path / f"model-{seed}", seed=seed) for seed in (1, 2)]


@pytest.fixture
def plan(folders, tmp_path):
    """Two models, four prompts."""

    def plan(**changes):
        tables = {
            "name": "few",
            "k": [4, 8],
            "models": [{"model": str(folder), "family": "tiny"} for folder in folders],
            "prompts": [{"text": text} for text in PROMPTS],
        }
        return make(parse(tables | changes, tmp_path / "few.toml"))

    return plan


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", gallery=tmp_path / "gallery")


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


def test_a_table_has_what_measuring_one_by_one_gives(client, plan, store, tmp_path):
    asked = plan()
    told: list[State] = []
    state = run(asked, store, client, told.append)
    assert (state.total, state.stored, state.done, state.failed) == (8, 0, 8, 0)
    assert state.ended == "done"
    assert state.seconds > 0
    assert told[-1] == state
    table, left_out = make_table(asked, store)
    assert not left_out
    assert len(table) == 16
    for item in asked.items():
        alone = measure(item.request, device="cpu")
        rows = table[(table.model == asked.weights[item.weights].title)].query(
            "prompt == @asked.prompts[@item.prompt].text"
        )
        assert list(rows.k) == [4, 8]
        for row in rows.itertuples():
            found = means(score_pairs(alone, View(row.k)))
            for name in ("coupling", "chance", "corrected"):
                assert getattr(row, name) == pytest.approx(found[name], abs=1e-6)
            aligned = means(score_pairs(alone, View(row.k, "alignment")))
            assert row.alignment == pytest.approx(aligned["coupling"], abs=1e-6)
            assert row.tokens == len(alone.tokens)
            assert (row.layers, row.width) == (alone.n_blocks, alone.width)
            assert row.certified
    write_table(tmp_path / "t.csv", table)
    again = read_table(tmp_path / "t.csv")
    np.testing.assert_allclose(again.corrected, table.corrected, rtol=1e-5)
    assert list(again.prompt) == list(table.prompt)


def test_only_what_is_missing_is_measured(client, plan, store, planted):
    tried = planted(lambda request, times: None)
    run(plan(), store, client)
    first = len(tried)
    gone = store.entries()[:3]
    for entry in gone:
        store.remove(entry.key)
    state = run(plan(), store, client)
    assert first == 8
    assert {request.prompt for request in tried[8:]} == {e.request.prompt for e in gone}
    assert (state.stored, state.done, len(tried)) == (5, 3, 11)


def test_what_memory_or_network_refuse_is_tried_again(client, plan, store, planted):
    def refuse_twice(request, times):
        if request.prompt == PROMPTS[1] and times < 3:
            raise ComputeError("memory ran out")

    tried = planted(refuse_twice)
    state = run(plan(retries=2), store, client)
    assert (state.done, state.failed) == (8, 0)
    assert len(tried) == 12


def test_a_failure_is_told_with_its_traceback_and_is_no_number(client, plan, store, planted):
    def refuse(request, times):
        if request.prompt == PROMPTS[1]:
            raise ComputeError("the disk is gone")
        if request.prompt == PROMPTS[2]:
            raise InputError("too long")
        if request.prompt == PROMPTS[3]:
            raise ZeroDivisionError

    tried = planted(refuse)
    asked = plan(retries=1)
    state = run(asked, store, client)
    assert (state.done, state.failed, state.left) == (2, 6, 0)
    failures = {failure.prompt: failure for failure in Journal.of(store, asked.id).failures()}
    assert "disk is gone" in failures[PROMPTS[1]].trace
    assert failures[PROMPTS[1]].attempts == 2
    assert (failures[PROMPTS[2]].error, failures[PROMPTS[2]].trace) == ("too long", "")
    assert "not foreseen" in failures[PROMPTS[3]].error
    assert "in refuse" in failures[PROMPTS[3]].trace
    assert len(tried) == 2 * (1 + 2 + 1 + 1)
    table, _ = make_table(asked, store)
    assert set(table.prompt) == {PROMPTS[0]}
    found = status(asked, store)
    assert repr(found) == f"Status({asked.id}, 2 of 8 stored, 6 failed)"
    assert "Of 8 measurements, 2 are stored. The last run: done, after" in found.verdict
    assert "2 measurements failed with: " in found.verdict
    assert [(model.stored, model.total) for model in found.models] == [(1, 4), (1, 4)]
    assert {failure.prompt for failure in found.failures} == set(PROMPTS[1:])


def test_the_status_counts_what_is_stored_of_each_model(plan, store, tmp_path):
    asked = plan()
    found = status(asked, store.root)
    assert (found.total, found.stored, found.missing, found.runs) == (8, 0, 8, False)
    assert (found.state, found.last_run, found.failures) == (None, "", ())
    assert found.verdict == "Of 8 measurements, 0 are stored."
    items = [item for item in asked.items() if item.weights == 1][:3]
    for item in items:
        measure(item.request, store, device="cpu")
    known = status(asked, store)
    table = known.to_pandas()
    assert table.attrs == {"sweep": known.id, "last_run": known.last_run}
    assert table.model.tolist() == [weights.title for weights in asked.weights]
    assert (table.stored.tolist(), table.total.tolist()) == ([0, 3], [4, 4])
    assert table.problem.tolist() == ["", ""]
    with pytest.raises(InputError, match="a dict came where a plan is needed"):
        inspect.unwrap(status)({"name": "few"}, store)


def test_the_status_says_why_a_model_cannot_be_measured(plan, store, folders):
    models = [{"model": str(folders[0])}, {"model": "somebody/nowhere"}]
    found = status(plan(models=models), store)
    assert found.models[0].problem == ""
    assert found.models[1].problem in found.verdict
    assert "somebody/nowhere cannot be measured as things are: " in found.verdict


def test_the_status_tells_a_run_that_goes_on(plan, store):
    asked = plan()
    journal = Journal.of(store, asked.id)
    journal.begin(asked.described)
    now = time.time()
    journal.note(State(asked.id, "few", 8, 2, 1, started=now, updated=now), now=True)
    found = status(asked, store)
    assert found.runs
    assert found.last_run.startswith("runs: 2 stored before, 1 measured in ")


def test_a_model_that_always_fails_alike_is_given_up(client, plan, store, planted):
    def refuse(request, times):
        if request.model.endswith("1"):
            raise InputError("no such architecture")

    many = [{"text": f"Number {i}"} for i in range(20)]
    tried = planted(refuse)
    asked = plan(prompts=many)
    state = run(asked, store, client)
    assert (state.done, state.failed, state.left) == (20, 20, 0)
    assert sum(request.model.endswith("1") for request in tried) < 8
    failures = Journal.of(store, asked.id).failures()
    assert any("left out after 3 others" in failure.error for failure in failures)


def test_prompts_that_are_at_fault_do_not_count_against_the_model(client, plan, store, planted):
    def refuse(request, times):
        if request.prompt.startswith("a"):
            raise PromptError("token 4 is out of range: this prompt has tokens 1..1")

    planted(refuse)
    asked = plan(prompts=[{"text": f"a{i}"} for i in range(9)] + [{"text": "The cat sat"}])
    state = run(asked, store, client)
    models = len(asked.weights)
    assert (state.done, state.failed) == (models, 9 * models)
    assert not any("left out" in one.error for one in asked_failures(store, asked))


def test_a_model_of_which_something_is_stored_is_not_given_up(client, plan, store, planted):
    planted(lambda request, times: None)
    run(plan(prompts=[{"text": "The cat sat"}]), store, client)

    def refuse(request, times):
        if request.prompt.startswith("a"):
            raise InputError("no")

    planted(refuse)
    more = [{"text": "The cat sat"}, *({"text": f"a{i}"} for i in range(9)), {"text": "The dog"}]
    asked = plan(prompts=more)
    state = run(asked, store, client)
    assert (state.stored, state.done) == (len(asked.weights), len(asked.weights))


def asked_failures(store, asked):
    return Journal.of(store.root, asked.id).failures()


@pytest.mark.parametrize("workers", [-1, 0, 1.5, "2", True])
def test_how_many_workers_is_a_number_from_one(plan, store, workers):
    with pytest.raises(InputError, match="worker"):
        inspect.unwrap(run)(plan(), store, workers=workers)


def test_what_is_missing_is_told_of_a_store_by_its_folder(plan, store):
    asked = plan()
    assert asked.missing(str(store.root)) == asked.missing(store)
    assert len(asked.missing()) == len(asked)
    with pytest.raises(InputError, match="a store is a Store or the path of its folder, and 3"):
        inspect.unwrap(as_store)(3)


def test_a_model_that_ends_its_process_is_named_and_the_worker_goes_on(
    client, plan, store, folders, monkeypatch
):
    one = Worker(modules=())
    monkeypatch.setattr(working, "measure", partial(one.measure, by=mortal.measure_or_die))
    fates = ("die of SIGSEGV", "by the fast way: exit with 1", PROMPTS[0])
    asked = plan(
        models=[{"model": str(folders[0])}], prompts=[{"text": text} for text in fates], retries=0
    )
    try:
        state = run(asked, store, client)
    finally:
        one.close()
    assert (state.done, state.failed) == (2, 1)
    (failure,) = Journal.of(store, asked.id).failures()
    assert failure.prompt == fates[0]
    assert f"ended by SIGSEGV while it computed with {folders[0]}" in failure.error
    assert {entry.provenance["fast"] for entry in store.entries()} == {False}


def test_what_takes_too_long_is_given_up(client, plan, store, planted):
    def sleep(request, times):
        if request.prompt == PROMPTS[0]:
            time.sleep(2)

    planted(sleep)
    run(plan(), store, client)  # the models are in memory now
    for entry in store.entries():
        store.remove(entry.key)
    asked = plan(timeout=1.5)
    state = run(asked, store, client)
    assert (state.done, state.failed) == (6, 2)
    assert "more than 1.5 s" in Journal.of(store, asked.id).failures()[0].error


def test_a_worker_that_does_not_see_the_store_ends_the_sweep(client, plan, store, monkeypatch):
    monkeypatch.setattr(Journal, "witness", property(lambda self: self.folder / "elsewhere.json"))
    monkeypatch.setattr(Journal, "begin", lambda *_: None)
    asked = plan()
    with pytest.raises(ComputeError, match="disk that all machines of a sweep share"):
        run(asked, store, client)


def test_a_sweep_that_runs_is_not_run_twice(client, plan, store):
    asked = plan()
    journal = Journal.of(store, asked.id)
    journal.begin(asked.described)
    parent = os.getppid()
    state = State(asked.id, "few", 8, 0, started=time.time() + 5, pid=parent)
    journal.note(state, now=True)
    with pytest.raises(InputError, match=f"process {parent}"):
        run(asked, store, client)
    journal.note(replace(state, pid=2**22 + 1), now=True)  # killed: it has noted no end
    assert not journal.state().runs
    assert run(asked, store, client).done == 8


def test_the_stopping_of_a_sweep_is_noted(client, plan, store):
    def stop(state):
        if state.done:
            raise KeyboardInterrupt

    asked = plan()
    with pytest.raises(KeyboardInterrupt):
        run(asked, store, client, stop)
    noted = Journal.of(store, asked.id).state()
    assert noted.ended == "stopped"
    assert 0 < noted.done < 8
    assert not noted.runs


def test_kinds_between_tokens_and_paths_have_their_rows(client, plan, store):
    asked = plan(
        k=[5, 8],
        kinds=["fixed-output", "self", "trajectory"],
        prompts=[{"text": PROMPTS[0]}],
    )
    run(asked, store, client)
    table, _ = make_table(asked, store)
    assert list(table.kind[:5]) == ["fixed-output"] * 2 + ["self"] * 2 + ["trajectory"]
    between = table[table.kind != "trajectory"]
    assert between.corrected.notna().all()
    assert between.line_shape.isna().all()
    paths = table[table.kind == "trajectory"]
    assert (paths.line_shape > 0).all()
    assert paths.corrected.isna().all()


def test_a_damaged_result_has_no_row_and_is_named(client, plan, store):
    asked = plan(prompts=[{"text": PROMPTS[0]}])
    run(asked, store, client)
    entry = store.entries()[0]
    content = bytearray(entry.path.read_bytes())
    content[-9] ^= 1
    entry.path.write_bytes(bytes(content))
    table, left_out = make_table(asked, store)
    assert list(left_out) == [entry.key]
    assert entry.key not in set(table.key)
    assert len(table) == 2


def test_a_result_that_goes_while_the_table_is_made_is_missing_like_any_other(
    client, plan, store, monkeypatch
):
    asked = plan(prompts=[{"text": PROMPTS[0]}])
    run(asked, store, client)
    first = asked.stored(store)[0]
    get = Store.get

    def too_late(store, key):
        if key == first:
            store.remove(key)
        return get(store, key)

    monkeypatch.setattr(Store, "get", too_late)
    table, left_out = make_table(asked, store)
    assert not left_out
    assert first not in set(table.key)
    assert len(asked.missing(store)) == 1


def test_a_doubtful_result_has_no_row_and_is_named(client, plan, store):
    asked = plan(prompts=[{"text": PROMPTS[0]}], kinds=["fixed-output"], k=[5, 8])
    run(asked, store, client)
    found = store.get(store.entries()[0].key)
    s = found.singular_values.copy()
    s[0, 1] *= 1e-7
    unaware = dict(found.provenance) | {"ways": {"one token over a cache": 4}}
    store.put(replace(found, singular_values=s, provenance=unaware))
    table, left_out = make_table(asked, store)
    assert list(left_out) == [found.key]
    assert "too coarse" in left_out[found.key]
    assert found.key not in set(table.key)


def test_a_result_without_the_score_s_floor_leaves_the_others_their_rows(client, plan, store):
    asked = plan(definition="preprint", k=[5])
    run(asked, store, client)
    found = store.get(store.entries()[0].key)
    without = {"chance": found.chance[:0], "chance_error": found.chance_error[:0]}
    store.put(replace(found, sampled=(), **without))
    table, left_out = make_table(asked, store)
    assert list(left_out) == [found.key]
    assert "no chance floor of 'preprint'" in left_out[found.key]
    assert len(table) == len(asked) - 1


def test_journals_are_found_and_damaged_notes_pass_for_none(client, plan, store):
    asked = plan(prompts=[{"text": PROMPTS[0]}])
    run(asked, store, client)
    (journal,) = [one for one in journals(store) if one.folder.name == asked.id]
    assert journal.plan()["total"] == 2
    assert journal.plan()["origins"][0]["source"] == "text"
    for name in ("state.json", "failures.json", "plan.json"):
        for text in ("", "{", "[]", "null", '{"pid": 1}', json.dumps([1])):
            (journal.folder / name).write_text(text)
            assert journal.state() is None or name != "state.json"
            journal.failures()
            journal.plan()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: expected a line of columns"),
        ("model,k\nx,1\n", "has no column 'id'"),
        (None, "is not there"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text, told):
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_table(path)


def test_a_cancelled_measurement_is_a_failure_not_an_end(client, plan, store, planted):
    def cancel(request, times):
        if request.prompt == PROMPTS[0]:
            raise Cancelled

    planted(cancel)
    state = run(plan(), store, client)
    assert (state.done, state.failed) == (6, 2)


def test_workers_that_hang_and_cannot_be_started_anew_end_the_sweep(
    client, plan, store, planted, monkeypatch
):
    awake = threading.Event()

    def hang(request, times):
        awake.wait(60)

    monkeypatch.setattr("coupling_core.experiments.sweeps.running.STUCK", 0.5)
    planted(hang)
    asked = plan(timeout=0.2)
    try:
        with pytest.raises(ComputeError, match="every worker hangs"):
            run(asked, store, client)
    finally:
        awake.set()
    journal = Journal.of(store, asked.id)
    (failure,) = journal.failures()
    assert "hung for more than" in failure.error
    assert "every worker hangs" in journal.state().ended


def test_a_result_of_other_weights_is_a_failure(client, plan, store, planted, folders):
    asked = plan(models=[{"model": str(folders[0])}], prompts=[{"text": PROMPTS[0]}])
    other = replace(asked.weights[0], identity={**asked.weights[0].identity, "digest": "0" * 64})
    state = run(replace(asked, weights=(other,)), store, client)
    assert (state.done, state.failed) == (0, 1)
    journal = Journal.of(store, asked.id)
    assert "other weights" in journal.failures()[0].error


def test_a_model_without_a_final_norm_has_one_result_for_both_ways(client, plan, store, tmp_path):
    tiny.folder(tmp_path / "opt", "opt_350m")
    models = {"models": [{"model": str(tmp_path / "opt")}], "prompts": [{"text": PROMPTS[0]}]}
    state = run(plan(final_norm="exclude", **models), store, client)
    assert (state.done, state.failed) == (1, 0)
    for norm in ("exclude", "include"):
        assert not plan(final_norm=norm, **models).missing(store)


def test_workers_that_are_all_gone_are_not_waited_for_without_end(plan, store, monkeypatch):
    from dask.distributed import Client

    monkeypatch.setattr("coupling_core.experiments.sweeps.running.GONE", 0.5)
    monkeypatch.setattr(working, "measure", lambda *_, **__: time.sleep(0.2))
    one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(processes=False, **one) as own:
        retired = []

        def retire(state):
            if state.workers and not retired:
                retired.append(own.retire_workers(list(own.scheduler_info()["workers"])))

        with pytest.raises(ComputeError, match="all workers are gone"):
            run(plan(), store, own, retire)


def test_a_connection_that_breaks_at_any_moment_is_told_in_words(client, plan, store, monkeypatch):
    def broken(*_, **__):
        raise OSError("stream is closed")

    monkeypatch.setattr(type(client), "submit", broken)
    asked = plan()
    with pytest.raises(ComputeError, match="the scheduler is gone"):
        run(asked, store, client)
    assert "scheduler is gone" in Journal.of(store, asked.id).state().ended
