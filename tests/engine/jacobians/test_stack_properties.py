"""Kinds of stacks for which one token alone is not the whole sequence, and the final norm."""

import itertools

import numpy as np
import pytest
import tiny
import torch
import transformers
from checks import relative
from torch import nn

from benchmarks import architectures
from benchmarks.definition import Definition
from coupling_core import InputError, Request, measure
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace
from coupling_core.engine.loading import find_blocks

IDS = list(range(3, 15))


def longrope():
    """Phi-3 with a rotary base that changes behind 8 tokens, as its long versions have it."""
    config = transformers.Phi3Config(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=300, max_position_embeddings=64, pad_token_id=0,
        original_max_position_embeddings=8,
        rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "long_factor": [4.0] * 4,
            "short_factor": [1.0] * 4, "original_max_position_embeddings": 8,
        },
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.Phi3ForCausalLM(config)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.15)
    return model.eval().requires_grad_(False)


def is_right(model, ids, tokens, tolerance=1e-5):
    exact = Definition(model, {"input_ids": torch.tensor([ids]), "use_cache": False})
    reader = read(model, ids)
    for token in tokens:
        for block in reader.at(token).blocks:
            norm = reader.kind.final_norm if block.number == reader.n_blocks else None
            found = block_jacobian(block, norm).double()
            assert relative(found, exact.jacobian(block.number, token, token)) < tolerance


def test_positions_that_depend_on_the_length():
    """The keys of the whole prompt are kept, but token 4 alone has the base of short prompts."""
    for n in (8, 9):
        is_right(longrope(), IDS[:n], (2, n - 1, n))
    reader = read(longrope(), IDS)
    assert not reader.kind.why_whole  # on four tokens nothing shows
    assert [bool(reader.at(token).calls) for token in (12, 4)] == [True, False]


@pytest.mark.full
@pytest.mark.parametrize("name", ["qwen3_next", pytest.param("bamba", marks=pytest.mark.slow)])
def test_a_model_whose_tokens_do_not_run_alone_runs_whole(name):
    """State-space layers keep a state that is no key and value."""
    model = architectures.build(name, scale=1.5)
    assert read(model, IDS).kind.why_whole
    is_right(model, IDS[:6], (1, 3, 6), tolerance=1e-4)  # a scan adds up rounding


@pytest.mark.parametrize(
    ("family", "size"),
    [("gpt2", 1e-4), ("llama", 1e-2), ("llama", 1e4), ("gemma3", 1e-4), ("olmo", 1e-2)],
)
def test_the_final_norm_is_found_whatever_its_epsilon(family, size):
    """Beside small states an epsilon is large, and scaling them changes what the norm gives."""
    model = tiny.model(family)
    model.get_input_embeddings().weight *= size
    for parameter in itertools.islice(model.parameters(), 1, None):
        if parameter.ndim > 1:
            parameter *= min(1.0, size)
    norms = [m for m in model.modules() if "Norm" in type(m).__name__]
    assert read(model, IDS).kind.final_norm is norms[-1]


def test_dropout_behind_the_last_block_is_no_norm():
    model = tiny.model("gpt2")
    model.transformer.ln_f = nn.Dropout(0.5)
    assert read(model.eval(), IDS).kind.final_norm is None


def test_stacks_of_texts_are_told_by_their_names():
    t5, named = tiny.model("t5"), nn.Module()
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


@pytest.mark.parametrize("head", ["BertForMaskedLM", "BertForTokenClassification"])
def test_only_a_head_over_the_vocabulary_says_what_comes_next(head):
    model = getattr(transformers, head)(tiny.model("bert").config).eval()
    expected = head == "BertForMaskedLM"
    assert (trace(model, IDS, 2).logits is not None) == expected
    path = measure(Request(tuple(IDS[:4]), kind="trajectory"), model=model)
    assert np.isfinite(path.entropy).all() == expected
