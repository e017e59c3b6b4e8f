"""Capture and replay: states, causality, the final norm, refusals, and no traces left behind."""

import itertools

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


@pytest.mark.parametrize("family", tiny.SHORT)
@pytest.mark.parametrize("token", [1, 7])
def test_states_are_those_of_the_whole_sequence(family, token):
    model = tiny.model(family)
    traced = trace(model, IDS, token)
    with torch.no_grad():
        states = model(torch.tensor([IDS]), output_hidden_states=True, use_cache=False)
    for block, state in zip(traced.blocks, states.hidden_states[:-1], strict=True):
        assert torch.allclose(block.state, state[0, token - 1], atol=1e-4)
    final = traced.kind.final_norm(traced.blocks[-1].output)
    assert torch.allclose(final, states.hidden_states[-1][0, token - 1], atol=1e-4)
    assert torch.allclose(traced.logits, states.logits[0, token - 1], atol=1e-3)


@pytest.mark.parametrize("family", [*tiny.SHORT, "bert"])
def test_replaying_a_block_gives_the_next_state(family):
    blocks = trace(tiny.model(family), IDS, 5).blocks
    for block, following in itertools.pairwise(blocks):
        replayed = block.replay(block.state[None, None])
        assert torch.allclose(replayed, following.state, atol=1e-5)


def test_a_model_without_a_final_norm_says_so():
    assert trace(tiny.model("bert"), IDS, 2).kind.final_norm is None


@pytest.mark.parametrize(
    ("family", "word"), [("albert", "has no transformer blocks"), ("swin", "reads images")]
)
def test_models_that_cannot_be_replayed_are_refused(family, word):
    with pytest.raises(InputError, match=word):
        trace(tiny.model(family), IDS, 2)


class Shared(torch.nn.Module):
    """A llama whose blocks run in an order or between maps of our own."""

    def __init__(self, run):
        super().__init__()
        self.inner, self.run = tiny.model("llama"), run

    def forward(self, input_ids, **options):
        rotary = self.inner.model.rotary_emb(
            self.inner.model.embed_tokens(input_ids), torch.arange(input_ids.shape[1])[None]
        )
        x = self.inner.model.embed_tokens(input_ids)
        return (self.run(self.inner.model.layers, x, rotary),)


def run_twice(layers, x, rotary):
    for layer in [*layers, *layers]:
        x = layer(x, position_embeddings=rotary)
    return x


def run_backwards(layers, x, rotary):
    for layer in reversed(layers):
        x = layer(x, position_embeddings=rotary)
    return x


def run_past_the_hooks(layers, x, rotary):
    for layer in layers:
        x = layer.forward(x, position_embeddings=rotary)
    return x


def run_scaled(layers, x, rotary):
    for layer in layers:
        x = 2 * layer(x, position_embeddings=rotary)
    return x


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (run_twice, "ran 8 blocks where it has 4"),
        (run_backwards, "in another order"),
        (run_past_the_hooks, "runs none of its 4 blocks as a module"),
        (run_scaled, "changes the state between blocks 1 and 2"),
    ],
)
def test_blocks_that_are_no_residual_stream_are_refused(run, word):
    with pytest.raises(InputError, match=word):
        trace(Shared(run), IDS, 2)


def test_a_module_without_blocks_is_refused():
    with pytest.raises(InputError, match="no transformer blocks"):
        find_blocks(torch.nn.Linear(2, 2))


def test_stacks_of_texts_are_told_by_their_names():
    t5, named = tiny.model("t5"), torch.nn.Module()
    named.text_encoder, named.text_decoder = t5.encoder, t5.decoder
    assert find_blocks(named, "encoder") is t5.encoder.block
    assert find_blocks(named) is t5.decoder.block


def test_blocks_in_stages_are_refused():
    sizes = {"hidden_sizes": [32, 64], "depths": [2, 2], "num_encoder_blocks": 2, "image_size": 32}
    config = transformers.PvtConfig(**sizes, num_attention_heads=[1, 2])
    model = transformers.PvtModel(config)
    with pytest.raises(InputError, match="has its blocks in 2 lists, one for each stage"):
        find_blocks(model)


def test_no_hook_is_left_on_the_model():
    model = tiny.model("llama")
    trace(model, IDS, 7)
    with pytest.raises(InputError):
        trace(tiny.model("albert"), IDS, 2)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


@pytest.mark.parametrize(("token", "found"), [(1, 1), (7, 7), (-1, 7), (-7, 1)])
def test_tokens_count_from_either_end(token, found):
    assert resolve_token(token, 7) == found


@pytest.mark.parametrize("token", [0, 8, -8])
def test_a_token_out_of_range_names_the_range(token):
    with pytest.raises(InputError, match=r"1\.\.7"):
        resolve_token(token, 7)


@pytest.mark.parametrize(
    ("head", "says_what_comes_next"),
    [
        (transformers.BertForMaskedLM, True),
        (transformers.BertForSequenceClassification, False),
        (transformers.BertForTokenClassification, False),
    ],
)
def test_only_a_head_over_the_vocabulary_says_what_comes_next(head, says_what_comes_next):
    model = head(tiny.model("bert").config).eval()
    found = trace(model, IDS, 2).logits
    assert (found is not None) == says_what_comes_next
    path = measure(Request(tuple(IDS), kind="trajectory"), model=model)
    assert np.isfinite(path.entropy).all() == says_what_comes_next
