"""Token ids, a model and its precision, in the forms in which people have them."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

import coupling_core as cc
from coupling_core import InputError, Request, Store
from coupling_core.base.token_ids import token_ids

IDS = (5, 17, 42)
FORMS = {
    "a tuple": IDS,
    "a list": [5, 17, 42],
    "a list of a list": [[5, 17, 42]],
    "NumPy's numbers": [np.int64(i) for i in IDS],
    "torch's numbers": [torch.tensor(i) for i in IDS],
    "an array": np.array(IDS),
    "an array (1, token)": np.array([IDS], np.int32),
    "a tensor": torch.tensor(IDS),
    "a tensor (1, token)": torch.tensor([IDS]),
    "a tensor of int32": torch.tensor(IDS, dtype=torch.int32),
}


@pytest.mark.parametrize("form", FORMS)
def test_ids_are_taken_in_any_form(form):
    request = Request(FORMS[form])
    assert request == Request(IDS)
    assert all(type(i) is int for i in request.prompt)
    assert token_ids(FORMS[form]) == IDS


def test_a_range_is_ids():
    assert Request(range(5, 8)).prompt == (5, 6, 7)


@pytest.mark.parametrize("form", [form for form in FORMS if form[:1] == "a"])
def test_a_model_reads_them_and_no_picture(form):
    reader = cc.read(tiny.model("llama"), FORMS[form])
    assert reader.token_ids == list(IDS)
    assert reader.kind.causal


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2.0], "whole numbers"),
        (["The", "cat"], "whole numbers"),
        (np.array([1.0, 2.0]), "whole numbers"),
        (torch.tensor([1.5, 2.0]), "whole numbers"),
        ([[1, 2], [3, 4]], "2 rows"),
        (torch.tensor([[1, 2], [3, 4]]), "2 rows"),
        (torch.tensor([[[1, 2]]]), "2 rows|1 rows"),
        (7, "whole numbers"),
        (torch.tensor(7), "whole numbers"),
        (b"The cat", "decode them"),
        ("The cat", r"a text came .* tokenizer\(text\)"),
        ({"input_ids": [1, 2]}, "pass its input_ids"),
        (SimpleNamespace(input_ids=[1, 2]), "pass its input_ids"),
    ],
)
def test_what_is_no_ids_of_one_prompt_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        token_ids(given)


@pytest.mark.parametrize("empty", ["", "  ", (), [], np.array([], int), torch.tensor([])])
def test_a_prompt_without_a_token_is_refused(empty):
    with pytest.raises(InputError, match="prompt is empty"):
        Request(empty)


def test_a_tensor_that_is_neither_ids_nor_an_image_is_told_so():
    with pytest.raises(InputError, match=r"float32 and shape \(1, 3, 8\) .* token ids"):
        inspect.unwrap(cc.read)(tiny.model("llama"), torch.zeros(1, 3, 8))
    with pytest.raises(InputError, match="reads text, and the prompt is an image"):
        cc.read(tiny.model("llama"), torch.zeros(1, 3, 8, 8))


def test_a_path_is_the_name_of_a_model(tmp_path):
    folder = tiny.folder(tmp_path / "llama")
    assert Request("The cat", model=folder) == Request("The cat", model=str(folder))
    assert cc.measure(Request("The cat", model=Path(folder), k=4)).certified
    with pytest.raises(InputError, match=r"names its model.*measure\(Request"):
        inspect.unwrap(Request.__init__)(Request("x"), "x", model=tiny.model("llama"))


def test_a_precision_is_named_or_torchs_own(tmp_path):
    assert Request("The cat", dtype=torch.bfloat16) == Request("The cat", dtype="bfloat16")
    with pytest.raises(InputError, match="dtype must be one of"):
        Request("The cat", dtype=torch.int8)
    with pytest.raises(InputError, match="2 rows"):
        Request([[1, 2], [3, 4]])


def test_the_folder_of_a_store_may_be_a_text(tmp_path):
    assert Store(str(tmp_path / "results")).root == tmp_path / "results"


def test_what_has_the_wrong_precision_is_not_refused_for_its_shape():
    with pytest.raises(InputError, match=r"shape \(1, 5\) in float32, and token ids are whole"):
        cc.measure(torch.zeros(1, 5), model="minilm-l6")
