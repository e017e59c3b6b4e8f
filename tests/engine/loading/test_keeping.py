"""Models that stay in memory between measurements, and when they go."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import tiny
import torch

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
from coupling_core.measuring.memory import fit
from coupling_core.measuring.probe import probe
from coupling_core.sources.resolved import resolve

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def nothing_kept():
    loading.forget()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return [tiny.folder(root / name, seed=seed) for seed, name in enumerate("abc")]


def request(folder, **changes):
    return Request("The cat sat", model=str(folder), k=4, **changes)


def loaded(folder, **changes):
    return load(resolve(request(folder, **changes)), "cpu")


def weights(*models):
    """Bytes of models in memory."""
    return sum(p.nbytes for one in models for p in one.model.parameters())


def free(monkeypatch, size):
    """Let so many bytes be free beside what is kept."""
    monkeypatch.setattr(keeping, "usable_memory", lambda device: size)


def test_a_model_is_loaded_once_for_all_who_ask_and_in_another_form_again(folders):
    first = loaded(folders[0])
    loaded(folders[1])
    again = loaded(f"{folders[0]}/", untrained=None)
    assert again.model is first.model
    assert first.seconds > 0 == again.seconds
    others = [
        loaded(folders[0], **form).model for form in ({"untrained": 0}, {"dtype": "bfloat16"})
    ]
    assert len({id(model) for model in (first.model, *others)}) == 3


def test_a_model_is_loaded_while_others_are_built_without_weights(folders):
    asked, stop = resolve(request(folders[0])), threading.Event()

    def build():
        while not stop.is_set():
            skeleton(asked.files)

    with ThreadPoolExecutor(1) as beside:
        built = beside.submit(build)
        try:
            for _ in range(2):
                forget()
                model = load(asked, "cpu").model
                assert not any(weight.is_meta for weight in model.parameters())
        finally:
            stop.set()
    assert built.exception() is None


def test_what_a_stack_is_is_found_once_and_of_ones_own_each_time(folders, monkeypatch):
    """A module of one's own may have changed; what is known goes with its model."""
    seen, real = [], decode.find_kind
    monkeypatch.setattr(decode, "find_kind", lambda *given: seen.append(1) or real(*given))
    for prompt in ("The cat", "Another prompt"):
        measure(replace(request(folders[0]), prompt=prompt))
    assert len(seen) == 1
    gone = weakref.ref(loaded(folders[0]).model)
    forget()
    assert gone() is None
    model = tiny.model("llama")
    for _ in range(2):
        measure(Request((1, 2, 3), k=4), model=model)
    assert len(seen) == 3


def test_the_one_not_used_for_longest_goes_first(folders, monkeypatch):
    a, b = (loaded(folder) for folder in folders[:2])
    loaded(folders[0])
    free(monkeypatch, int(1.2 * weights(a, b) / keeping.SHARE))
    loaded(folders[2])  # beside one of them, but not beside both
    assert loaded(folders[0]).model is a.model
    assert loaded(folders[1]).model is not b.model
    free(monkeypatch, 0)
    only = loaded(folders[2], dtype="bfloat16")  # the last one is kept though it is too large
    assert len(loading._kept) == 1
    assert loaded(folders[2], dtype="bfloat16").model is only.model


def test_others_give_way_to_a_measurement_and_its_own_model_stays(folders, monkeypatch):
    own, *_ = (loaded(folder, dtype="bfloat16") for folder in folders)
    asked = resolve(request(folders[0], dtype="bfloat16"))
    free(monkeypatch, 0)
    give_way(asked, CPU, weights(own))
    assert len(loading._kept) == 3  # what it needs is its own model's, which is there
    give_way(asked, CPU, 10**12)
    assert len(loading._kept) == 1
    assert loaded(folders[0], dtype="bfloat16").model is own.model


def test_what_is_kept_does_not_count_against_a_measurement(folders, monkeypatch):
    found = probe(resolve(request(folders[0])))
    needed = fit(request(folders[0]), found, 3, "cpu").memory.needed
    free(monkeypatch, needed - 1)
    assert not fit(request(folders[0]), found, 3, "cpu").memory.fits
    loaded(folders[0], dtype="bfloat16")
    assert fit(request(folders[0]), found, 3, "cpu").memory.fits


def test_weights_that_are_mapped_from_their_file_hold_no_memory(folders, monkeypatch):
    free(monkeypatch, 0)
    mapped = load(resolve(request(folders[0])), "cpu", streamed=True)
    buffers = sum(b.nbytes for b in mapped.model.buffers())
    assert within_reach(CPU) == buffers
    forget()
    copied = loaded(folders[0])  # nobody can change it in its folder
    assert within_reach(CPU) == buffers + weights(copied)
