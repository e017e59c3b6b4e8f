"""Modules that are no models of transformers: measured as the definition says."""

from typing import Any

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
from coupling_core.engine.loading.wrapped import Wrapped

IDS = (3, 17, 42, 9, 8, 1)
KINDS: list[dict[str, Any]] = [
    {"kind": "depth", "token": 3, "k": 4, "final_norm": "exclude"},
    {"kind": "trajectory"},
    {"kind": "self", "block": 2, "other_block": 3, "k": 4},
    {"kind": "fixed-input", "block": 2, "token": 2, "k": 4},
    {"kind": "fixed-output", "k": 4},
]
TOLERANCE = 1e-5
"""Of J's norm; what is another function's Jacobian is off by a tenth and more."""


class OracleModel(nn.Module):
    """What the oracle asks of a model: blocks in a list, and to be called with input_ids."""

    def __init__(self, gpt: GPT) -> None:
        super().__init__()
        self.gpt, self.listed = gpt, nn.ModuleList(gpt.listed)

    def forward(self, input_ids: torch.Tensor, use_cache: bool) -> Any:
        return self.gpt(input_ids)


def wrapped(gpt: GPT, **told: Any) -> Wrapped:
    given = {"blocks": gpt.blocks, "final_norm": gpt.ln_f, "forward": lambda g, ids: g(ids)}
    return cc.wrap(gpt, **given | told)


def definition(gpt: GPT, block: int, t1: int, t2: int) -> torch.Tensor:
    norm = gpt.ln_f if block == len(gpt.listed) else None
    return reference.block_jacobian(OracleModel(gpt.eval()), list(IDS), block, t1, t2, norm)


def worst(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm().clamp_min(1e-3))


WORLDS = {
    "pre-norm": lambda: GPT(),
    "post-norm": lambda: GPT(by_hand.PostNorm),
    "tuples": lambda: GPT(by_hand.Tuple),
    "in a dictionary": lambda: GPT(held=by_hand.in_dict),
    "both directions": lambda: GPT(lambda: by_hand.Block(causal=False)),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jacobians_are_those_of_the_definition(world):
    gpt = WORLDS[world]().eval()
    reader = cc.read(wrapped(gpt), IDS)
    assert reader.kind.causal == (world != "both directions")
    for block in (1, 3):
        for token, (J,) in self_jacobians(reader, [block], [1, 4, len(IDS)]):
            assert worst(J, definition(gpt, block, token, token)) < TOLERANCE
        (found,) = output_jacobians(reader, [block], 4)
        for t1, J in enumerate(found, 1):
            assert worst(J, definition(gpt, block, t1, 4)) < TOLERANCE


@pytest.mark.parametrize("asked", KINDS, ids=lambda asked: asked["kind"])
def test_every_kind_is_measured_with_its_checks(asked):
    gpt = GPT()
    found = cc.measure(Request(IDS, **asked), model=wrapped(gpt))
    assert found.request.model == "module:GPT"
    assert found.provenance["causal"]
    assert found.provenance["final_norm"]
    assert 0 < found.provenance["derivative_error"] < 2e-3
    assert found.tokens[:2] == ("#3", "#17")
    assert gpt.training  # it is left as it was
    if asked["kind"] == "depth":
        assert found.certified


def test_a_final_norm_is_found_where_none_is_named():
    gpt = GPT()
    named, found = (
        cc.measure(Request(IDS, k=4), model=wrapped(gpt, final_norm=norm))
        for norm in (gpt.ln_f, None)
    )
    assert np.array_equal(named.diagonal, found.diagonal)
    other = cc.measure(Request(IDS, k=4, final_norm="exclude"), model=wrapped(gpt))
    assert not np.allclose(other.singular_values[-1], named.singular_values[-1], rtol=1e-2)


def test_the_first_blocks_alone_are_measured_without_a_later_block_s_norm():
    gpt = GPT(held=by_hand.in_dict).eval()
    whole = cc.measure(Request(IDS, k=4), model=wrapped(gpt))
    first = wrapped(gpt, blocks=list(gpt.listed[:2]), final_norm=None)
    found = cc.measure(Request(IDS, k=4), model=first)
    assert found.n_blocks == 2
    assert not found.provenance["final_norm"]
    same = (found.diagonal, whole.diagonal[:, :2, :2])
    np.testing.assert_allclose(*same, atol=1e-6)
    assert set(first.left_out) == set(gpt.listed[2:])


class _OfAttributes(nn.Module):
    """Blocks that stand in no list, the last one of another class."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, by_hand.WIDTH)
        self.one, self.two = by_hand.Block(), by_hand.Block()
        self.three = type("Another", (by_hand.Block,), {})()
        self.ln_f = nn.LayerNorm(by_hand.WIDTH)
        self.head = nn.Linear(by_hand.WIDTH, 50)

    def forward(self, ids):
        x = self.three(self.two(self.one(self.embedding(ids))))
        return self.head(self.ln_f(x))


def test_a_norm_behind_which_the_state_goes_on_is_no_final_norm():
    model = _OfAttributes().eval()
    few = cc.wrap(model, blocks=[model.one, model.two])
    assert few.left_out == []
    found = cc.measure(Request(IDS, k=4), model=few)
    assert not found.provenance["final_norm"]
    whole = cc.measure(
        Request(IDS, k=4), model=cc.wrap(model, blocks=[model.one, model.two, model.three])
    )
    assert whole.provenance["final_norm"]
    np.testing.assert_allclose(found.diagonal, whole.diagonal[:, :2, :2], atol=1e-6)


def test_the_last_blocks_alone_have_the_final_norm():
    gpt = GPT().eval()
    whole = cc.measure(Request(IDS, k=4), model=wrapped(gpt))
    for norm in (gpt.ln_f, None):
        last = wrapped(gpt, blocks=gpt.blocks[1:], final_norm=norm)
        found = cc.measure(Request(IDS, k=4), model=last)
        np.testing.assert_allclose(found.diagonal, whole.diagonal[:, 1:, 1:], atol=1e-6)


def test_a_state_may_be_handed_over_by_name():
    gpt = GPT().eval()
    states = [gpt.tok(torch.tensor([IDS])) + gpt.pos(torch.arange(len(IDS)))]

    def named(g: Any, ids: torch.Tensor) -> Any:
        x = g.tok(ids) + g.pos(torch.arange(ids.shape[1]))
        for block in g.blocks:
            x = block(x=x)
        return g.head(g.ln_f(x))

    reader = cc.read(wrapped(gpt, forward=named), IDS)
    assert torch.equal(reader.whole[0].hidden, states[0])
    (J,) = next(self_jacobians(reader, [2], [4]))[1]
    assert worst(J, definition(gpt, 2, 4, 4)) < TOLERANCE


# What comes of the head


def entropies(gpt: GPT, forward: Any) -> Any:
    return cc.measure(Request(IDS, kind="trajectory"), model=wrapped(gpt, forward=forward))


def test_logits_are_taken_in_any_form():
    gpt = GPT().eval()
    p = gpt(torch.tensor([IDS])).softmax(-1)[0]
    expected = -(p * p.log()).sum(-1).detach().numpy()
    for forward in (
        lambda g, ids: (g(ids), None),
        lambda g, ids: {"loss": None, "logits": g(ids)},
        lambda g, ids: torch.nn.Sequential(g)(ids),
    ):
        assert entropies(gpt, forward).entropy[-1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "forward",
    [
        lambda g, ids: nn.functional.layer_norm(g.states(ids), [by_hand.WIDTH]),
        lambda g, ids: (g.states(ids), None)[1],
    ],
    ids=["normed states", "nothing"],
)
def test_without_a_head_there_are_no_logits(forward):
    model = wrapped(GPT(), forward=forward, final_norm=None)
    assert cc.measure(Request(IDS, k=4), model=model).next_tokens == ()
    found = cc.measure(Request(IDS, kind="trajectory"), model=model)
    assert np.isnan(found.entropy).all()
    assert found.no_entropy


def test_logits_of_the_last_token_alone_are_no_other_tokens():
    gpt = GPT().eval()
    model = wrapped(gpt, forward=lambda g, ids: g(ids)[:, -1:])
    last = cc.measure(Request(IDS, k=4), model=model)
    assert last.next_tokens == cc.measure(Request(IDS, k=4), model=wrapped(gpt)).next_tokens
    assert cc.measure(Request(IDS, token=3, k=4), model=model).next_tokens == ()


# What is stored


def test_nothing_is_stored_of_code_of_ones_own_unless_it_is_named(tmp_path):
    store, gpt = Store(tmp_path / "results", gallery=tmp_path / "none"), GPT()
    found = cc.measure(Request(IDS, k=4), store, model=wrapped(gpt))
    assert found.key == ""
    assert found.provenance["not_stored"]
    assert store.entries() == []
    named = cc.measure(Request(IDS, k=4), store, model=wrapped(gpt), variant="first try")
    assert named.identity["name"] == "GPT (first try)"
    assert [entry.key for entry in store.entries()] == [named.key]


class Stock(nn.Sequential):
    """Nothing here but modules of torch, and yet a class of one's own."""


def stock(cls: type = nn.Sequential, seed: int = 0) -> Any:
    """A model of torch's own modules alone."""
    torch.manual_seed(seed)
    blocks = [
        nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 12))
        for _ in range(3)
    ]
    return cls(nn.Embedding(20, 12), nn.Sequential(*blocks), nn.LayerNorm(12), nn.Linear(12, 20))


def test_a_module_of_torch_alone_is_stored_by_what_it_is(tmp_path):
    store = Store(tmp_path / "results", gallery=tmp_path / "none")

    def key(model: Any, **told: Any) -> str:
        given = {"blocks": model[1]} | told
        return cc.measure(Request((3, 1, 4), k=3), store, model=cc.wrap(model, **given)).key

    model = stock()
    first = key(model)
    assert first
    assert key(stock()) == first  # the same weights, in another module
    assert key(stock(seed=1)) != first
    assert key(model, blocks=list(model[1])[:2]) != first
    assert key(model, final_norm=model[2]) != first
    assert key(model, forward=lambda m, ids: m(ids)) == ""  # which nobody can tell from another
    assert key(stock(Stock)) == ""
