"""What a model's own tail makes of a state, against norm and head written out."""

import pytest
import tiny
import torch
from family_matrix import IDS, STACKS, model, reader, tiered
from torch import nn

from coupling_core.engine.jacobians import unembedding
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.unembedding import NO_HEAD, OTHER_HEAD, logit_entropy


def raw_states(reads):
    calls = reads.whole
    return torch.stack([calls[0].hidden[0], *(call.output[0] for call in calls)])


def entropy_of(logits):
    p = logits.double().softmax(-1)
    return -(p * p.log()).sum(-1)


@tiered([n for n in STACKS if not n.endswith("encoder")], full=("opt_350m", "mamba", "t5-decoder"))
def test_the_last_state_gives_the_models_own_entropy(name):
    reads = reader(name)
    states = raw_states(reads)
    found, reason = logit_entropy(reads.runner, reads.ids, states)
    assert reason == ""
    assert found.shape == states.shape[:2]
    with torch.no_grad():
        own = reads.runner(reads.ids, use_cache=False).logits[0]
    torch.testing.assert_close(found[-1].double(), entropy_of(own), atol=1e-5, rtol=1e-5)
    assert (found[0] - found[-1]).abs().max() > 1e-4  # not one and the same for every state


def test_every_state_goes_once_through_norm_cap_and_head(monkeypatch):
    capped = model("gemma2")
    reads = reader("gemma2")
    states, before = raw_states(reads), capped(reads.ids).logits
    monkeypatch.setattr(unembedding, "LOGITS", len(IDS) * capped.config.vocab_size)
    found, _ = logit_entropy(reads.runner, reads.ids, states)
    cap = capped.config.final_logit_softcapping
    with torch.no_grad():
        logits = cap * torch.tanh(capped.lm_head(capped.model.norm(states)) / cap)
    torch.testing.assert_close(found.double(), entropy_of(logits), atol=1e-5, rtol=1e-5)
    assert torch.equal(capped(reads.ids).logits, before)


@pytest.mark.parametrize("name", ["t5-encoder", "bert"])
def test_a_model_without_a_head_has_no_entropy_and_says_so(name):
    reads = reader(name) if name != "bert" else read(model(name).bert, list(IDS))
    found, reason = logit_entropy(reads.runner, reads.ids, raw_states(reads))
    assert found.isnan().all()
    assert reason == NO_HEAD


class Drifting(nn.Module):
    """Gives something else at each call."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


def test_a_head_that_reads_more_than_the_last_block_has_no_entropy_and_says_so():
    odd = tiny.model("llama")
    odd.model.norm = Drifting()
    reads = reader("llama")
    runner = type(reads.runner)(odd, odd.model.layers, "input_ids", {})
    found, reason = logit_entropy(runner, reads.ids, raw_states(reads))
    assert found.isnan().all()
    assert reason == OTHER_HEAD
