"""What may be asked for: token ids in the forms in which people have them, and ranges of blocks."""

import numpy as np
import tiny
import torch

from coupling_core import Request, parse_blocks
from coupling_core.base.token_ids import token_ids
from coupling_core.engine.jacobians.decode import read

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
            reader = read(tiny.model("llama"), form)
            assert reader.token_ids == list(IDS)
            assert reader.kind.causal


RANGES = {
    None: (1, 2, 3, 4, 5, 6),
    " ": (1, 2, 3, 4, 5, 6),
    "3": (3,),
    "2-4": (2, 3, 4),
    "1-6:2": (1, 3, 5),
    "5,2-3,2": (2, 3, 5),
    "2 - 4": (2, 3, 4),
    " 1 -5 : 2": (1, 3, 5),
    "-1": (6,),
    "-6--5,4--1:2": (1, 2, 4, 6),
}


def test_block_ranges():
    assert {text: parse_blocks(text, 6) for text in RANGES} == RANGES


def test_one_block_is_compared_with_itself():
    asked = Request("x", kind="self", block=3)
    assert asked == Request("x", kind="self", block=3, other_block=3)
    assert asked != Request("x", kind="self", block=3, other_block=2)


def test_a_request_measures_at_least_fifty_triplets_so_that_smaller_k_is_a_slice():
    assert [Request("x", k=k).k_max for k in (1, 50, 64)] == [50, 50, 64]
