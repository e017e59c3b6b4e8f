"""Capture: what is found of a model's blocks and head, and no traces left behind."""

import numpy as np
import pytest
import tiny
import torch
import transformers

from coupling_core import InputError, Request, measure
from coupling_core.base.records import resolve_token
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import find_blocks

IDS = [5, 17, 42, 8, 99, 17, 3]


def test_stacks_of_texts_are_told_by_their_names():
    t5, named = tiny.model("t5"), torch.nn.Module()
    named.text_encoder, named.text_decoder = t5.encoder, t5.decoder
    assert find_blocks(named, "encoder") is t5.encoder.block
    assert find_blocks(named) is t5.decoder.block


def test_no_hook_is_left_on_the_model():
    model, refused = tiny.model("llama"), tiny.model("albert")
    trace(model, IDS, 7)
    with pytest.raises(InputError):
        trace(refused, IDS, 2)
    for part in (*model.modules(), *refused.modules()):
        assert not part._forward_hooks
        assert not part._forward_pre_hooks


def test_tokens_count_from_either_end():
    assert [resolve_token(token, 7) for token in (1, 7, -1, -7)] == [1, 7, 7, 1]
    for token in (0, 8, -8):
        with pytest.raises(InputError, match=r"1\.\.7"):
            resolve_token(token, 7)


@pytest.mark.parametrize(
    ("head", "says_what_comes_next"),
    [
        (transformers.BertForMaskedLM, True),
        (transformers.BertForTokenClassification, False),
    ],
)
def test_only_a_head_over_the_vocabulary_says_what_comes_next(head, says_what_comes_next):
    model = head(tiny.model("bert").config).eval()
    found = trace(model, IDS, 2).logits
    assert (found is not None) == says_what_comes_next
    path = measure(Request(tuple(IDS), kind="trajectory"), model=model)
    assert np.isfinite(path.entropy).all() == says_what_comes_next
