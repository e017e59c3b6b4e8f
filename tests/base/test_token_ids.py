"""Token ids, a model and its precision, in the forms in which people have them."""

from pathlib import Path

import numpy as np
import tiny
import torch

import coupling_core as cc
from coupling_core import Request, Store
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


def test_ids_are_taken_in_any_form():
    for name, form in FORMS.items():
        request = Request(form)
        assert request == Request(IDS), name
        assert all(type(i) is int for i in request.prompt), name
        assert token_ids(form) == IDS, name
    assert Request(range(5, 8)).prompt == (5, 6, 7)


def test_a_model_reads_them_and_no_picture():
    for form in FORMS.values():
        if not isinstance(form, list):
            reader = cc.read(tiny.model("llama"), form)
            assert reader.token_ids == list(IDS)
            assert reader.kind.causal


def test_a_path_is_the_name_of_a_model(tmp_path):
    folder = tiny.folder(tmp_path / "llama")
    assert Request("The cat", model=folder) == Request("The cat", model=str(folder))
    assert cc.measure(Request("The cat", model=Path(folder), k=4)).certified


def test_a_precision_may_be_torchs_own_and_the_folder_of_a_store_a_text(tmp_path):
    assert Request("The cat", dtype=torch.bfloat16) == Request("The cat", dtype="bfloat16")
    assert Store(str(tmp_path / "results")).root == tmp_path / "results"
