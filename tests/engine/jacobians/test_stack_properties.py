"""Kinds of stacks for which one token alone is not the whole sequence, and the final norm."""

import itertools

import pytest
import tiny
import torch
import transformers
from checks import relative
from torch import nn

from benchmarks import architectures
from benchmarks.definition import Definition
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.same_token import block_jacobian

IDS = list(range(3, 15))


def named(name):
    return next(each for each in architectures.every() if each.name == name)


def longrope():
    """Phi-3 with a rotary base that changes behind 8 tokens, as its long versions have it."""
    config = transformers.Phi3Config(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=300,
        max_position_embeddings=64,
        original_max_position_embeddings=8,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "long_factor": [4.0] * 4,
            "short_factor": [1.0] * 4,
            "original_max_position_embeddings": 8,
        },
        pad_token_id=0,
    )
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


@pytest.mark.parametrize("n", [8, 9, 12])
def test_positions_that_depend_on_the_length(n):
    is_right(longrope(), IDS[:n], (2, n - 1, n))


def test_a_token_runs_alone_only_where_it_has_its_states():
    """The keys of the whole prompt are kept, but token 4 alone has the base of short prompts."""
    reader = read(longrope(), IDS)
    assert not reader.kind.why_whole  # on four tokens nothing shows
    assert [bool(reader.at(token).calls) for token in (12, 4)] == [True, False]


@pytest.mark.full
@pytest.mark.parametrize("name", ["qwen3_next", pytest.param("bamba", marks=pytest.mark.slow)])
def test_a_model_whose_tokens_do_not_run_alone_runs_whole(name):
    """State-space layers keep a state that is no key and value."""
    model = architectures.build(named(name), scale=1.5)
    assert read(model, IDS).kind.why_whole
    is_right(model, IDS[:6], (1, 3, 6), tolerance=1e-4)  # a scan adds up rounding


# --- the final norm


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
