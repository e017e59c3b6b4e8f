"""measure(...) with a text in place of a request: the same numbers, and plain complaints."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from inspect import signature
from threading import Event

import numpy as np
import pytest
import tiny
import torch
from cases import content

from coupling_core import (
    DepthResult,
    DirectionsResult,
    InputError,
    PerturbationResult,
    Request,
    SpectrumResult,
    Store,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
    WhatIfResult,
    measure,
)

IDS = (3, 1, 4, 1, 5)


@pytest.fixture(scope="module")
def llama():
    return tiny.model("llama")


def numbers(result):
    """All arrays of a result, to the bit."""
    return {name: kept for name, kept in content(result).items() if isinstance(kept, tuple)}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"k": 4}, DepthResult),
        ({"k": 4, "token": 2, "final_norm": "exclude"}, DepthResult),
        ({"k": 4, "kind": "self", "block": 1}, TokensResult),
        ({"k": 4, "kind": "fixed-output", "block": 1, "other_block": 2}, TokensResult),
        ({"k": 4, "kind": "fixed-input", "token": 2}, TokenMeansResult),
        ({"kind": "trajectory"}, TrajectoryResult),
        ({"kind": "what-if"}, WhatIfResult),
        ({"kind": "spectrum"}, SpectrumResult),
        ({"kind": "perturbation"}, PerturbationResult),
        ({"kind": "directions", "token": 2}, DirectionsResult),
    ],
)
def test_parts_give_what_a_request_gives_to_the_bit(llama, said, kind):
    expected = measure(Request(IDS, **said), model=llama)
    for ids in (list(IDS), torch.tensor([IDS]), np.array(IDS)):
        found = measure(ids, model=llama, **said)
        assert type(found) is kind
        assert numbers(found) == numbers(expected)
        assert found.request == expected.request


@pytest.mark.parametrize(
    ("said", "looked_at"),
    [({}, 32), ({"kind": "self", "block": 1}, 32), ({"kind": "fixed-output", "block": 1}, 20)],
)
def test_a_narrow_model_is_measured_at_its_width_where_no_k_is_said(
    llama, said, looked_at, tmp_path
):
    found = measure(IDS, tmp_path / "kept", model=llama, **said)
    assert found.k_max == found.request.k == 32
    assert "K <= 32" in repr(found)
    asked = measure(IDS, tmp_path / "kept", model=llama, k=32, **said)
    assert (asked, numbers(asked)) == (found, numbers(found))
    assert measure(Request(IDS, **said), tmp_path / "kept", model=llama) == found
    assert found.scores().view.k == looked_at
    for k in (33, 50):
        with pytest.raises(InputError, match=rf"K must lie in 1..32 .* and {k} "):
            measure(IDS, model=llama, k=k, **said)


def test_a_mean_over_all_pairs_is_kept_at_the_width_too(llama):
    found = measure(IDS, model=llama, kind="fixed-output")
    assert found.k_max == 32 in found.k_grid
    assert found.default_k == 20  # the rank that two key-value heads give to other tokens


def test_a_layer_norm_takes_one_from_the_k_where_none_is_said(tmp_path):
    found = measure(IDS, tmp_path / "kept", model=tiny.model("gpt2"))
    assert (found.k_max, found.scores().view.k) == (32, 31)
    assert np.isfinite(found.scores().mean().corrected)
    assert np.isnan(found.scores(k=32).mean().corrected)
    assert measure(IDS, tmp_path / "kept", model=tiny.model("gpt2")).default_k == 31


def test_a_tokenizer_of_another_sort_is_refused_with_the_remedy(llama):
    class Characters:
        def encode(self, text):
            return [ord(letter) % 60 for letter in text]

    with pytest.raises(InputError, match=r"a Characters, cannot be called .* or token ids"):
        measure("The cat sat", model=llama, tokenizer=Characters(), k=4)


def test_a_text_is_read_with_the_tokenizer_that_is_handed_over(llama):
    found = measure("The cat sat", model=llama, tokenizer=tiny.tokenizer(), k=4)
    assert "".join(found.tokens) == "The cat sat"


def test_a_folder_may_be_a_path_and_a_dtype_torch_s(tmp_path):
    where = tiny.folder(tmp_path / "model")
    found = measure("The cat", model=where, k=4, dtype=torch.bfloat16, device=torch.device("cpu"))
    expected = measure(Request("The cat", model=str(where), k=4, dtype="bfloat16"), device="cpu")
    assert numbers(found) == numbers(expected)


def test_a_model_that_is_named_is_kept_in_the_store_of_the_command_line(tmp_path, llama):
    where = tiny.folder(tmp_path / "model")
    assert measure("The cat", model=where, k=4) == measure("The cat", model=str(where), k=4)
    assert len([entry for entry in Store().entries() if not entry.read_only]) == 1
    measure("The cat", None, model=where, k=5, token=1)
    measure(IDS, model=llama, k=4)
    measure(Request("The dog", model=str(where), k=4))
    assert len([entry for entry in Store().entries() if not entry.read_only]) == 1


def test_a_store_may_be_named_by_its_folder(tmp_path, llama):
    first = measure(IDS, tmp_path / "kept", model=llama, k=4)
    assert first.key
    again = measure(Request(IDS, k=4), Store(str(tmp_path / "kept")), model=llama)
    assert again == first
    assert hash(again) == hash(first)


@pytest.mark.parametrize(
    ("prompt", "said", "words"),
    [
        (Request(IDS), {"k": 4}, "says k itself"),
        (Request(IDS), {"model": "minilm-l6", "token": 2}, "says token, model itself"),
        (torch.ones(2, 3, dtype=torch.long), {}, r"a Tensor of shape \(2, 3\).*measure_many"),
        (torch.ones(3), {}, "token ids"),
        (["The cat", "sat"], {}, "measure_many"),
        ({"input_ids": [[1, 2]]}, {}, r'prompt\["input_ids"\]'),
        (None, {}, "a NoneType None: expected a text"),
        ("The cat", {"kind": "breadth"}, "the kind must be one of"),
        ("The cat", {"kind": "paths"}, r"did you mean 'trajectory'"),
        ("The cat", {"kind": "Tokens"}, r"did you mean 'self'"),
        ("The cat", {"kind": "dept"}, r"did you mean 'depth'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(prompt, said, words):
    with pytest.raises(InputError, match=words):
        measure(prompt, **said)


def test_every_field_of_a_request_can_be_said():
    said = signature(measure).parameters
    assert {item.name for item in fields(Request)} <= said.keys()
    for item in fields(Request):
        if item.name not in ("prompt", "model", "token"):
            assert said[item.name].default == item.default


def test_threads_that_measure_one_model_wait_for_one_another(llama, tmp_path):
    """What a measurement hooks onto a model and puts before its modules is not for two at once."""
    prompts = [(3, 1, 4, 1, 5), (2, 7, 1, 8), (1, 6, 1, 8, 0), (5, 7, 7, 2)]
    with ThreadPoolExecutor(len(prompts)) as pool:
        found = list(pool.map(lambda ids: measure(ids, tmp_path, model=llama, k=4), prompts))
    for ids, one in zip(prompts, found, strict=True):
        assert one.key  # nobody took another measurement's hooks for code of the user's own
        assert numbers(one) == numbers(measure(ids, model=llama, k=4))


def test_who_waits_for_a_measurement_can_be_stopped(llama):
    class Stopped(Exception):
        pass

    begun, stop = Event(), Event()

    def until_stopped(progress):
        begun.set()
        stop.wait()

    def refuse(progress):
        raise Stopped if begun.is_set() else AssertionError

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(measure, IDS, model=llama, k=4, progress=until_stopped)
        begun.wait()
        with pytest.raises(Stopped):
            measure(IDS, model=llama, k=4, progress=refuse)
        stop.set()
        assert first.result().key == ""


@pytest.mark.parametrize("name", ["minilm-l6", "EleutherAI/pythia-160m", "gpt2"])
def test_a_model_in_the_place_of_the_store_is_never_passed_over(name, tmp_path, monkeypatch):
    """It gave the default model's numbers for those of another."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"model='{name}'"):
        measure("The cat sat", name)
    assert not list(tmp_path.iterdir())


def test_a_module_in_the_place_of_the_store_is_told(llama):
    with pytest.raises(InputError, match="a model goes to model="):
        measure(IDS, llama)


def test_a_folder_that_shall_be_made_is_written_as_one(llama, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert measure(IDS, "./kept", model=llama, k=4).key
    assert measure(IDS, "kept", model=llama, k=4).key  # there it is


def test_a_device_that_is_none_is_refused_where_the_answer_is_stored(tmp_path):
    model, store = tiny.model("llama"), Store(tmp_path)
    assert measure(IDS, model=model, store=store).key
    with pytest.raises(InputError, match="device 'gpu' is unknown: expected cpu, cuda, cuda:0"):
        measure(IDS, model=model, store=store, device="gpu")
