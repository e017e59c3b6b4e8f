"""measure(...) with a text in place of a request: the same numbers, and plain complaints."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from inspect import signature
from threading import Event

import numpy as np
import pytest
import tiny
import torch
from cases import content
from refused import refusals

from coupling_core import InputError, Request, Store, jacobian, load_model, measure

IDS = (3, 1, 4, 1, 5)


def numbers(result):
    """All arrays of a result, to the bit."""
    return {name: kept for name, kept in content(result).items() if isinstance(kept, tuple)}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"k": 4, "token": 2, "final_norm": "exclude"}, "DepthResult"),
        ({"k": 4, "kind": "fixed-input", "token": 2, "block": 1}, "TokensResult"),
        ({"kind": "trajectory"}, "TrajectoryResult"),
    ],
)
def test_parts_give_what_a_request_gives_to_the_bit(llama, said, kind):
    expected = measure(Request(IDS, **said), model=llama)
    found = measure(torch.tensor([IDS]), model=llama, **said)
    assert type(found).__name__ == kind
    assert numbers(found) == numbers(expected)
    assert found.request == expected.request


def test_ids_may_be_a_list_or_an_array(llama):
    for ids in (list(IDS), np.array(IDS)):
        assert measure(ids, model=llama, k=4).request.prompt == IDS


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


def test_a_text_is_read_with_the_tokenizer_that_is_handed_over(llama):
    found = measure("The cat sat", model=llama, tokenizer=tiny.tokenizer(), k=4)
    assert "".join(found.tokens) == "The cat sat"


def test_a_folder_may_be_a_path_and_a_dtype_torch_s(folder):
    found = measure("The cat", model=folder, k=4, dtype=torch.bfloat16, device=torch.device("cpu"))
    expected = measure(Request("The cat", model=str(folder), k=4, dtype="bfloat16"), device="cpu")
    assert numbers(found) == numbers(expected)


def test_a_model_that_is_named_is_kept_in_the_store_of_the_command_line(folder, llama):
    assert measure("The cat", model=folder, k=4) == measure("The cat", model=str(folder), k=4)
    measure("The cat", None, model=folder, k=5, token=1)
    measure(IDS, model=llama, k=4)
    measure(Request("The dog", model=str(folder), k=4))
    assert len([entry for entry in Store().entries() if not entry.read_only]) == 1


def test_what_is_stored_has_the_names_by_which_it_is_asked_for(folder, tmp_path):
    best = shutil.copytree(folder, tmp_path / "best")
    first, again = (measure("The cat", tmp_path / "kept", model=at, k=4) for at in (folder, best))
    assert first.key == again.key
    assert (again.model_name, again.request.model) == ("best", str(best))
    assert numbers(first) == numbers(again)


def test_a_store_may_be_named_by_its_folder(tmp_path, llama, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = measure(IDS, "./kept", model=llama, k=4)
    assert first.key
    assert measure(IDS, "kept", model=llama, k=4) == first  # there it is
    again = measure(Request(IDS, k=4), Store(str(tmp_path / "kept")), model=llama)
    assert again == first
    assert hash(again) == hash(first)


def test_what_cannot_be_asked_is_refused(llama, tmp_path, snapshot, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own, many = {"model": llama}, torch.ones(2, 3, dtype=torch.long)
    calls = {
        "k beside a request": lambda: measure(Request(IDS), k=4),
        "two beside a request": lambda: measure(Request(IDS), model="minilm-l6", token=2),
        "two prompts of ids": lambda: measure(many),
        "numbers that are no ids": lambda: measure(torch.ones(3)),
        "truth values": lambda: measure([1, 2, True], **own),
        "texts": lambda: measure(["The cat", "sat"]),
        "what a tokenizer gives": lambda: measure({"input_ids": [[1, 2]]}),
        "None": lambda: measure(None),
        "an unknown kind": lambda: measure("The cat", kind="breadth"),
        "a page's name": lambda: measure("The cat", kind="paths"),
        "another page's name": lambda: measure("The cat", kind="Tokens"),
        "a kind misspelt": lambda: measure("The cat", kind="dept"),
        "K above the width": lambda: measure(IDS, k=33, **own),
        "K above the width, of tokens": lambda: measure(IDS, k=33, kind="self", block=1, **own),
        "an alias as the store": lambda: measure("The cat sat", "minilm-l6"),
        "a hub id as the store": lambda: measure("The cat sat", "EleutherAI/pythia-160m"),
        "a model of transformers as the store": lambda: measure("The cat sat", "gpt2"),
        "a block that is not there": lambda: jacobian(llama, IDS, block=9),
        "block 0": lambda: jacobian(llama, IDS, block=0),
        "a token that is not there": lambda: jacobian(llama, IDS, block=1, token=6),
        "K of one Jacobian": lambda: jacobian(llama, IDS, block=1, k=33),
        "a text without a tokenizer": lambda: jacobian(llama, "The cat sat", block=1),
        "a module to copy": lambda: load_model(llama),
        "a name misspelt": lambda: load_model("smollm2-135"),
    }
    assert refusals(calls) == snapshot
    assert not list(tmp_path.iterdir())


def test_every_field_of_a_request_can_be_said():
    said = signature(measure).parameters
    defaults = {item.name: item.default for item in fields(Request)}
    assert defaults.keys() <= said.keys()
    other = [name for name, value in defaults.items() if said[name].default != value]
    assert other == ["prompt", "model", "token"]


def test_threads_that_measure_one_model_wait_for_one_another(llama, tmp_path):
    """What a measurement hooks onto a model and puts before its modules is not for two at once."""
    prompts = [(3, 1, 4), (2, 7)]
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


def test_a_device_that_is_none_is_refused_where_the_answer_is_stored(llama, tmp_path):
    store = Store(tmp_path)
    assert measure(IDS, model=llama, store=store).key
    with pytest.raises(InputError, match="device 'gpu'"):
        measure(IDS, model=llama, store=store, device="gpu")
