"""The penalty on coupling: its value and gradient by the definition, and what it does to models."""

import itertools

import numpy as np
import pytest
import shallow
import torch
import vision_models
from torch import nn

from coupling_core import wrap
from coupling_core.engine import reference
from coupling_core.engine.jacobians.true_float64 import TrueFloat64
from coupling_core.engine.loading import find_blocks
from coupling_core.engine.penalty import coupling_penalty

IDS = torch.tensor([[3, 5, 7, 11, 2, 9], [1, 4, 1, 8, 6, 3]])
PICTURES = torch.linspace(-1, 1, 2 * 3 * 32 * 32).sin().reshape(2, 3, 32, 32)
TOKEN = 3
VALID = torch.eye(TOKEN)[-1:].expand(2, -1)
"""One token of each sequence counts, so that it is the one that is drawn."""
FAMILIES = [
    "llama", "gpt_neox",
    pytest.param("vit", marks=pytest.mark.full),
    *(pytest.param(family, marks=pytest.mark.slow) for family in ("bert", "gpt2", "qwen3", "deit")),
]  # fmt: skip


def inputs(model, at=slice(None)):
    if vision_models.reads_pictures(model):
        return {"pixel_values": PICTURES[at].to(model.dtype)}
    return {"input_ids": IDS[at]}


def trained(family, dtype=torch.float64):
    """A model as one trains it, but for what is dropped: it gives the same twice."""
    of = vision_models if family in vision_models.FAMILIES else shallow
    model = of.model(family).to(dtype).train().requires_grad_(True)
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    model.config.use_cache = False
    for name in ("attn_pdrop", "attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(model.config, name):
            setattr(model.config, name, 0.0)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_value_is_that_of_the_definition(family):
    """Of the first and the last block, with bases that power steps brought to their end."""
    model = trained(family)
    blocks = (1, len(find_blocks(model)))
    settings = {"blocks": blocks, "pairs": 99, "k": 2, "sequences": 2, "power_steps": 30}
    penalty = coupling_penalty(model, goal=0.0, **settings)
    for _ in range(2):  # the second follows the bases of the first
        model(**inputs(model))
        penalty.step = 0
        found = penalty(VALID)
    penalty.close()
    values = []
    for sequence in (0, 1):
        given = inputs(model, slice(sequence, sequence + 1))
        jacobians = [
            reference.block_jacobian(model, [], block, TOKEN, TOKEN, inputs=given)
            for block in blocks
        ]
        svds = [torch.linalg.svd(J) for J in jacobians]
        for own, other in itertools.permutations(range(2)):
            U, _, Vh = svds[other]
            gains = torch.einsum("ik,ij,kj->k", U[:, :2], jacobians[own], Vh[:2])
            values.append((gains / svds[own][1][:2]).mean())
    values = torch.stack(values)
    assert found.item() == pytest.approx(values.square().mean().item(), rel=1e-4)
    assert penalty.alignment == pytest.approx(values.mean().item(), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("family", "goal"), [("llama", "raise"), ("gpt_neox", 0.3)])
def test_the_gradient_is_that_of_central_differences(family, goal):
    model = trained(family)
    penalty = coupling_penalty(model, goal=goal, pairs=3, k=3, sequences=2, refresh=10**6)

    def value():
        with TrueFloat64():
            model(**inputs(model))
            penalty.step = 1  # which draws the same, with the bases of the first call
            return penalty()

    model(**inputs(model))
    penalty()
    value()
    model.zero_grad()
    value().backward()
    torch.manual_seed(0)
    known = [p for p in model.parameters() if p.grad is not None and p.grad.abs().sum() > 1e-9]
    assert len(known) > 10
    for parameter in known[:: max(1, len(known) // 5)]:
        way = torch.randn_like(parameter)
        way *= parameter.norm().clamp_min(1e-3) / way.norm()
        slope, h = (parameter.grad * way).sum().item(), 1e-5
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * h * way
            ends.append(value().item())
            with torch.no_grad():
                parameter -= sign * h * way
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=2e-5, abs=1e-9)


class Residual(nn.Module):
    """A block of a toy: x + W2 tanh(W1 x)."""

    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, hidden_states):
        return hidden_states + self.down(torch.tanh(self.up(hidden_states)))


def toy(depth=2):
    torch.manual_seed(1)
    return nn.Sequential(nn.Embedding(20, 12), nn.Sequential(*(Residual(12) for _ in range(depth))))


def penalty_of(model, **settings):
    wrapped = wrap(model, blocks=model[1], forward=lambda m, ids: m(ids))
    return coupling_penalty(wrapped, **settings)


def driven(goal, steps, model=None, autocast=False):
    """The alignment of a toy at the beginning and at the end, pushed by the penalty alone."""
    model = model or toy()
    penalty = penalty_of(model, goal=goal, pairs=2, k=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    found = []
    for _ in range(steps):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = 0 * model(IDS % 20).sum()
        optimizer.zero_grad()
        (loss + penalty()).backward()
        optimizer.step()
        found.append(penalty.alignment)
    return found[0], np.mean(found[-10:])


@pytest.mark.full
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("autocast", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_is_raised_and_held(autocast):
    first, top = driven("raise", 20, autocast=autocast)
    assert first < 0.1
    assert top > 0.9
    assert driven(0.5, 25, autocast=autocast)[1] == pytest.approx(0.5, abs=0.05)


@pytest.mark.full
@pytest.mark.usefixtures("one_thread")
def test_it_is_lowered_to_chance_and_not_beyond():
    model = toy()  # as coupled as blocks can be: the same block twice
    model[1][1].load_state_dict(model[1][0].state_dict())
    first, last = driven("lower", 30, model)
    assert first > 0.8
    assert abs(last) < 0.05


# ---- what it leaves alone


def test_a_watched_pass_gives_the_same_to_the_bit_and_modes_stay():
    model = trained("llama", torch.float32)
    alone = model(IDS).logits
    penalty = coupling_penalty(model)
    state = torch.random.get_rng_state()
    assert torch.equal(model(IDS).logits, alone)
    penalty()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(part.training for part in model.modules())
    penalty.close()
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_seed_and_step_alone_say_what_is_drawn():
    model, found = toy(depth=4), {}
    for seed, step in ((0, 0), (0, 0), (1, 0), (0, 1)):
        penalty = penalty_of(model, pairs=2, seed=seed)
        penalty.step = step
        model(IDS)
        found.setdefault((seed, step), set()).add(penalty().item())
        penalty.close()
    assert [len(values) for values in found.values()] == [1, 1, 1]
    assert len(set.union(*found.values())) == 3


def test_a_batch_has_the_mean_of_its_sequences_whichever_process_has_them():
    model = trained("llama")

    def penalty(ids, sequences):
        watching = coupling_penalty(model, k=2, sequences=sequences)
        model(input_ids=ids, attention_mask=torch.ones_like(ids))
        value = watching().item()
        watching.close()
        return value

    ids = torch.cat([IDS, IDS.flip(1)])
    alone = [penalty(one[None], 1) for one in ids[:3]]
    assert penalty(IDS, 2) == pytest.approx(np.mean(alone[:2]), rel=1e-6)
    assert penalty(ids, 1) == pytest.approx(alone[0], rel=1e-6)
    assert penalty(ids, 2) == pytest.approx(np.mean(alone[::2]), rel=1e-6)  # evenly over the batch


@pytest.mark.full
def test_checkpointing_of_transformers_gives_the_same_gradient():
    grads = []
    for reentrant in (None, False, True):
        model = trained("llama", torch.float32)
        if reentrant is not None:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        penalty = coupling_penalty(model)
        (model(IDS).logits.square().mean() + penalty()).backward()
        grads.append(
            torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        )
    for other in grads[1:]:
        torch.testing.assert_close(other, grads[0], rtol=1e-4, atol=1e-7)
