"""What a model's own tail makes of a state, against norm and head written out."""

import pytest
import tiny
import torch
from torch import nn

from coupling_core.engine.jacobians import unembedding
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.unembedding import NO_HEAD, OTHER_HEAD, logit_entropy

IDS = [5, 9, 2, 7, 11, 3]
CASES = [(family, None) for family in tiny.CAUSAL + tiny.BIDIRECTIONAL]
CASES += [(family, "decoder") for family in tiny.TWO_STACKS]
FAMILIES = [
    pytest.param(
        *case,
        marks=() if case[0] in (*tiny.SHORT, "gemma2", "bert", "t5") else pytest.mark.slow,
    )
    for case in CASES
]


def raw_states(reader):
    calls = reader.whole
    return torch.stack([calls[0].hidden[0], *(call.output[0] for call in calls)])


def entropy_of(logits):
    p = logits.double().softmax(-1)
    return -(p * p.log()).sum(-1)


@pytest.mark.parametrize(("family", "stack"), FAMILIES)
def test_the_last_state_gives_the_models_own_entropy(family, stack):
    reader = read(tiny.model(family), IDS, stack=stack)
    states = raw_states(reader)
    found, reason = logit_entropy(reader.runner, reader.ids, states)
    assert reason == ""
    assert found.shape == states.shape[:2]
    with torch.no_grad():
        own = reader.runner(reader.ids, use_cache=False).logits[0]
    torch.testing.assert_close(found[-1].double(), entropy_of(own), atol=1e-5, rtol=1e-5)
    assert (found[0] - found[-1]).abs().max() > 1e-4  # not one and the same for every state


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
def test_every_state_goes_once_through_norm_cap_and_head(monkeypatch, at_a_time):
    model = tiny.model("gemma2")
    reader = read(model, IDS)
    states = raw_states(reader)
    vocabulary = model.config.vocab_size
    monkeypatch.setattr(unembedding, "LOGITS", at_a_time * len(IDS) * vocabulary)
    found, _ = logit_entropy(reader.runner, reader.ids, states)
    cap = model.config.final_logit_softcapping
    with torch.no_grad():
        logits = cap * torch.tanh(model.lm_head(model.model.norm(states)) / cap)
    torch.testing.assert_close(found.double(), entropy_of(logits), atol=1e-5, rtol=1e-5)


def test_blocks_are_as_they_were_afterwards():
    model = tiny.model("llama")
    reader = read(model, IDS)
    before = model(reader.ids).logits
    logit_entropy(reader.runner, reader.ids, raw_states(reader))
    assert torch.equal(model(reader.ids).logits, before)


@pytest.mark.parametrize(("family", "stack"), [("t5", "encoder"), ("bert", None)])
def test_a_model_without_a_head_has_no_entropy_and_says_so(family, stack):
    model = tiny.model(family)
    reader = read(model.bert if family == "bert" else model, IDS, stack=stack)
    found, reason = logit_entropy(reader.runner, reader.ids, raw_states(reader))
    assert found.isnan().all()
    assert reason == NO_HEAD


def test_a_head_that_reads_more_than_the_last_block_has_no_entropy_and_says_so():
    model = tiny.model("llama")
    model.model.norm = Drifting()
    reader = read(tiny.model("llama"), IDS)
    states = raw_states(reader)
    odd = type(reader.runner)(model, model.model.layers, "input_ids", {})
    found, reason = logit_entropy(odd, reader.ids, states)
    assert found.isnan().all()
    assert reason == OTHER_HEAD


class Drifting(nn.Module):
    """Gives something else at each call."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls
