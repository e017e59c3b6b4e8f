"""Modules that are no models of transformers: measured as the definition says."""

import by_hand
import numpy as np
import pytest
import torch
from by_hand import GPT
from torch import nn

import coupling_core as cc
from coupling_core import Request, Store
from coupling_core.engine import reference
from coupling_core.engine.jacobians.between_tokens import output_jacobians, self_jacobians
from coupling_core.engine.jacobians.decode import read

IDS = (3, 17, 42, 9, 8, 1)
REQUEST = Request(IDS, k=4)
TOLERANCE = 1e-5
"""Of J's norm; what is another function's Jacobian is off by a tenth and more."""


class OracleModel(nn.Module):
    """What the oracle asks of a model: blocks in a list, and to be called with input_ids."""

    def __init__(self, gpt):
        super().__init__()
        self.gpt, self.listed = gpt, nn.ModuleList(gpt.listed)

    def forward(self, input_ids, use_cache):
        return self.gpt(input_ids)


def wrapped(gpt, **told):
    given = {"blocks": gpt.blocks, "final_norm": gpt.ln_f, "forward": lambda g, ids: g(ids)}
    return cc.wrap(gpt, **given | told)


def worst(found, gpt, block, t1, t2):
    """How far a Jacobian is from that of the definition."""
    norm = gpt.ln_f if block == len(gpt.listed) else None
    expected = reference.block_jacobian(OracleModel(gpt.eval()), list(IDS), block, t1, t2, norm)
    return float((found - expected).norm() / expected.norm().clamp_min(1e-3))


WORLDS = {
    "pre-norm": lambda: GPT(),
    "post-norm": lambda: GPT(by_hand.PostNorm),
    "tuples": lambda: GPT(by_hand.Tuple),
    "in a dictionary": lambda: GPT(held=by_hand.in_dict),
    "both directions": lambda: GPT(lambda: by_hand.Block(causal=False)),
}


def test_blocks_that_write_into_their_states_give_the_numbers_of_those_that_do_not():
    found = [
        cc.measure(REQUEST, model=wrapped(GPT(block).eval()))
        for block in (by_hand.Block, by_hand.InPlace)
    ]
    assert np.allclose(found[0].singular_values, found[1].singular_values, rtol=1e-5)
    assert np.allclose(found[0].matrices, found[1].matrices, atol=2e-3)


@pytest.mark.parametrize("world", WORLDS)
def test_jacobians_are_those_of_the_definition(world):
    gpt = WORLDS[world]()
    model = wrapped(gpt)
    found = cc.measure(REQUEST, model=model)
    assert 0 < found.provenance["derivative_error"] < 2e-3
    assert found.provenance["causal"] == (world != "both directions")
    assert gpt.training  # it is left as it was
    reader = read(wrapped(gpt.eval()), IDS)
    for block in (1, 3):
        for token, (J,) in self_jacobians(reader, [block], [1, 4, len(IDS)]):
            assert worst(J, gpt, block, token, token) < TOLERANCE
        (found,) = output_jacobians(reader, [block], 4)
        for t1, J in enumerate(found, 1):
            assert worst(J, gpt, block, t1, 4) < TOLERANCE


# What of the blocks is measured, and which norm belongs to the last


def diagonal(model):
    return cc.measure(REQUEST, model=model).diagonal


class InNoList(GPT):
    """Blocks that are attributes, so that nobody can see that one was left out."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = self.blocks
        self.blocks = None

    @property
    def listed(self):
        return [self.one, self.two, self.three]


@pytest.mark.parametrize("make", [lambda: GPT(held=by_hand.in_dict), InNoList])
def test_of_some_blocks_the_last_alone_has_the_final_norm(make):
    gpt = make().eval()
    whole = diagonal(wrapped(gpt, blocks=gpt.listed))
    first = wrapped(gpt, blocks=gpt.listed[:2], final_norm=None)
    assert set(first.left_out) == (set() if gpt.blocks is None else set(gpt.listed[2:]))
    assert not cc.measure(REQUEST, model=first).provenance["final_norm"]
    np.testing.assert_allclose(diagonal(first), whole[:, :2, :2], atol=1e-6)
    for norm in (gpt.ln_f, None):
        last = wrapped(gpt, blocks=gpt.listed[1:], final_norm=norm)
        np.testing.assert_allclose(diagonal(last), whole[:, 1:, 1:], atol=1e-6)


def test_a_state_may_be_handed_over_by_name():
    gpt = GPT().eval()

    def named(g, ids):
        x = g.tok(ids) + g.pos(torch.arange(ids.shape[1]))
        for block in g.blocks:
            x = block(x=x)
        return g.head(g.ln_f(x))

    reader = read(wrapped(gpt, forward=named), IDS)
    (J,) = next(self_jacobians(reader, [2], [4]))[1]
    assert worst(J, gpt, 2, 4, 4) < TOLERANCE


# What comes of the head


def test_logits_are_taken_in_any_form_and_there_may_be_none():
    gpt = GPT().eval()

    def path(forward, **told):
        model = wrapped(gpt, forward=forward, **told)
        return cc.measure(Request(IDS, kind="trajectory"), model=model)

    p = gpt(torch.tensor([IDS])).softmax(-1)[0]
    expected = -(p * p.log()).sum(-1).detach().numpy()
    for forward in (
        lambda g, ids: (g(ids), None),
        lambda g, ids: {"loss": None, "logits": g(ids)},
        lambda g, ids: nn.Sequential(g)(ids),
    ):
        assert path(forward).entropy[-1] == pytest.approx(expected, abs=1e-5)
    for forward in (
        lambda g, ids: nn.functional.layer_norm(g.states(ids), [by_hand.WIDTH]),
        lambda g, ids: (g.states(ids), None)[1],
    ):
        found = path(forward, final_norm=None)
        assert np.isnan(found.entropy).all()
        assert found.no_entropy


def test_logits_of_the_last_token_alone_are_no_other_tokens():
    gpt = GPT().eval()
    model = wrapped(gpt, forward=lambda g, ids: g(ids)[:, -1:])
    last = cc.measure(REQUEST, model=model)
    assert last.next_tokens == cc.measure(REQUEST, model=wrapped(gpt)).next_tokens
    assert cc.measure(Request(IDS, token=3, k=4), model=model).next_tokens == ()
    assert cc.measure(Request(IDS, kind="trajectory"), model=model).no_entropy


# What is stored


class Stock(nn.Sequential):
    """Nothing here but modules of torch, and yet a class of one's own."""


def stock(cls=nn.Sequential, seed=0):
    """A model of torch's own modules alone."""
    torch.manual_seed(seed)
    blocks = [
        nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 12))
        for _ in range(3)
    ]
    return cls(nn.Embedding(20, 12), nn.Sequential(*blocks), nn.LayerNorm(12), nn.Linear(12, 20))


def test_a_module_of_torch_alone_is_stored_by_what_it_is(tmp_path):
    store = Store(tmp_path / "results", gallery=tmp_path / "none")

    def key(model, **told):
        model = cc.wrap(model, **{"blocks": model[1]} | told)
        return cc.measure(Request((3, 1, 4), k=3), store, model=model).key

    model = stock()
    first = key(model)
    assert first
    assert key(stock()) == first  # the same weights, in another module
    assert key(stock(seed=1)) != first
    assert key(model, blocks=list(model[1])[:2]) != first
    assert key(model, final_norm=model[2]) != first
    assert key(model, forward=lambda m, ids: m(ids)) == ""  # which nobody can tell from another
    assert key(stock(Stock)) == ""
