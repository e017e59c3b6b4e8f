"""Models that stay in memory between measurements, and when they go."""

import threading
import weakref
from dataclasses import replace
from functools import partial

import psutil
import pytest
import tiny
import torch
from waiting import until

from coupling_core import Request, measure
from coupling_core.engine.jacobians import decode
from coupling_core.engine.loading import (
    forget,
    give_way,
    keeping,
    load,
    loading,
    skeleton,
    within_reach,
)
from coupling_core.engine.loading.keeping import Kept
from coupling_core.measuring.memory import fit
from coupling_core.measuring.probe import probe
from coupling_core.serving.jobs import Jobs
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(loading, "_kept", Kept())


@pytest.fixture
def folders(tmp_path):
    return [tiny.folder(tmp_path / name, seed=seed) for seed, name in enumerate("abc")]


def request(folder, **changes):
    return Request("The cat sat", model=str(folder), k=4, **changes)


def weights(*loaded):
    """Bytes of models in memory."""
    return sum(p.nbytes for one in loaded for p in one.model.parameters())


def free(monkeypatch, size):
    """Let so many bytes be free beside what is kept."""
    monkeypatch.setattr(keeping, "usable_memory", lambda device: size)


def test_a_model_is_loaded_once_for_all_who_ask(folders):
    first = load(resolve(request(folders[0])), "cpu")
    load(resolve(request(folders[1])), "cpu")
    again = load(resolve(request(f"{folders[0]}/", untrained=None)), "cpu")
    assert again.model is first.model
    assert first.seconds > 0 == again.seconds


def test_a_model_is_loaded_while_others_are_built_without_weights(folders):
    asked, stop, errors = resolve(request(folders[0])), threading.Event(), []

    def build():
        while not stop.is_set():
            try:
                skeleton(asked.files)
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    try:
        for _ in range(8):
            forget()
            loaded = load(asked, "cpu")
            assert not any(weight.is_meta for weight in loaded.model.parameters())
    finally:
        stop.set()
        thread.join()
    assert not errors


def test_what_a_stack_is_is_found_once_and_of_ones_own_each_time(folders, monkeypatch):
    """A module of one's own may have changed; what is known goes with its model."""
    seen, real = [], decode.find_kind
    monkeypatch.setattr(decode, "find_kind", lambda *given: seen.append(1) or real(*given))
    for prompt in ("The cat sat", "Another prompt"):
        measure(replace(request(folders[0]), prompt=prompt))
    assert len(seen) == 1
    gone = weakref.ref(load(resolve(request(folders[0])), "cpu").model)
    forget()
    assert gone() is None
    model = tiny.model("llama")
    for _ in range(2):
        measure(Request((1, 2, 3), k=4), model=model)
    assert len(seen) == 3


def test_another_form_is_another_model(folders):
    forms = ({}, {"untrained": 0}, {"dtype": "bfloat16"})
    models = [load(resolve(request(folders[0], **form)), "cpu").model for form in forms]
    assert len(set(map(id, models))) == 3


def test_the_one_not_used_for_longest_goes_first(folders, monkeypatch):
    a, b = (load(resolve(request(folder)), "cpu") for folder in folders[:2])
    load(resolve(request(folders[0])), "cpu")
    free(monkeypatch, int(1.2 * weights(a, b) / keeping.SHARE))
    load(resolve(request(folders[2])), "cpu")  # beside one of them, but not beside both
    assert load(resolve(request(folders[0])), "cpu").model is a.model
    assert load(resolve(request(folders[1])), "cpu").model is not b.model


def test_a_model_that_is_larger_than_the_share_is_kept_alone(folders, monkeypatch):
    free(monkeypatch, 0)
    load(resolve(request(folders[0])), "cpu")
    only = load(resolve(request(folders[1])), "cpu")
    assert load(resolve(request(folders[1])), "cpu").model is only.model
    assert len(loading._kept) == 1


def test_others_give_way_to_a_measurement_and_its_own_model_stays(folders, monkeypatch):
    loaded = [load(resolve(request(folder, dtype="bfloat16")), "cpu") for folder in folders]
    free(monkeypatch, 0)
    give_way(resolve(request(folders[0], dtype="bfloat16")), CPU, weights(loaded[0]))
    assert len(loading._kept) == 3  # what it needs is its own model's, which is there
    give_way(resolve(request(folders[0], dtype="bfloat16")), CPU, 10**12)
    assert len(loading._kept) == 1
    assert load(resolve(request(folders[0], dtype="bfloat16")), "cpu").model is loaded[0].model


def test_what_is_kept_does_not_count_against_a_measurement(folders, monkeypatch):
    found = probe(resolve(request(folders[0])))
    needed = fit(request(folders[0]), found, 3, "cpu").memory.needed
    free(monkeypatch, needed - 1)
    assert not fit(request(folders[0]), found, 3, "cpu").memory.fits
    load(resolve(request(folders[0], dtype="bfloat16")), "cpu")
    assert fit(request(folders[0]), found, 3, "cpu").memory.fits


def test_weights_that_are_mapped_from_their_file_hold_no_memory(folders, monkeypatch):
    free(monkeypatch, 0)
    mapped = load(resolve(request(folders[0])), "cpu", streamed=True)
    buffers = sum(b.nbytes for b in mapped.model.buffers())
    assert within_reach(CPU) == buffers
    loading.forget()
    copied = load(resolve(request(folders[0])), "cpu")  # nobody can change it in its folder
    assert within_reach(CPU) == buffers + weights(copied)


def is_over(jobs, key):
    return jobs.status(key).state not in ("queued", "running")


@pytest.mark.full
def test_memory_stays_flat_while_jobs_alternate(folders):
    jobs, store = Jobs(Store()), Store()
    loads, rss = [], []
    for number in range(20):
        asked = Request((1, 2, 3 + number), model=str(folders[number % 2]), k=4)
        key = jobs.submit(resolve(asked), "me", "cpu").key
        until(partial(is_over, jobs, key))
        loads.append(store.get(key).provenance["load_seconds"])
        rss.append(psutil.Process().memory_info().rss)
    assert sum(took > 0 for took in loads) == 2
    assert rss[-1] - rss[5] < 20 * 2**20
