"""Branches of a block: what is found, and its Jacobian in forward mode."""

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.jacobians.branches import branching
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace

IDS = [5, 17, 42, 8, 99, 17, 3]


class Gated(nn.Module):
    """An MLP whose gate is an activation, and whose input is normed inside where asked."""

    def __init__(self, width, hidden, mix=False):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.mix = mix

    def forward(self, x):
        hidden = torch.tanh(self.gate(x)) * self.up(x)
        if self.mix:  # no longer entry by entry
            hidden = hidden.softmax(-1) * 3
        return self.down(hidden)


class Planted(nn.Module):
    """A block of two branches, the second of which sees the first."""

    def __init__(self, width, hidden, mix=False):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first, self.second = Gated(width, hidden, mix), Gated(width, hidden)

    def forward(self, x):
        x = x + self.first(self.norm(x))
        return x + self.second(self.norm(x))


def captured(module, width):
    x = torch.randn(width, generator=torch.Generator().manual_seed(3)).to(module.norm.weight)

    def replay(z):
        return module(z)[0, 0]

    return Block(1, x, replay(x[None, None]).detach(), module, replay)


@pytest.fixture
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize(
    ("width", "hidden", "mix"), [(6, 20, False), (6, 6, True), (CHUNK + 30, 8, False)]
)
@pytest.mark.usefixtures("seeded")
def test_a_planted_block_has_the_jacobian_of_a_backward_pass(width, hidden, mix):
    block = captured(Planted(width, hidden, mix).double().requires_grad_(False), width)
    x = block.state[None, None].clone().requires_grad_()
    expected = torch.autograd.functional.jacobian(block.replay, x)[:, 0, 0]
    expected -= torch.eye(width, dtype=torch.float64)
    assert relative(block_jacobian(block), expected) < 1e-12


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "mixtral", "gemma3"])
def test_attention_and_mlp_are_branches(family):
    block = trace(tiny.model(family), IDS, 5).blocks[1]
    x = block.state[None, None].clone().requires_grad_()
    with torch.enable_grad(), branching(block.module) as branches:
        block.replay(x)
    assert [tuple(branch.jacobian.shape) for branch in branches] == [(32, 32), (32, 32)]
    assert all("forward" not in vars(module) for module in block.module.modules())


def test_what_has_no_forward_mode_is_left_to_the_backward_pass():
    """BLOOM's activation is a function of its own; its MLP's linear maps are branches then."""
    block = trace(tiny.model("bloom"), IDS, 5).blocks[1]
    x = block.state[None, None].clone().requires_grad_()
    with torch.enable_grad(), branching(block.module) as branches:
        block.replay(x)
    shapes = [tuple(branch.jacobian.shape) for branch in branches]
    assert shapes == [(96, 32), (32, 32), (128, 32), (32, 128)]


@pytest.mark.usefixtures("seeded")
def test_a_branch_outside_of_which_nothing_is_differentiated_runs_as_it_is():
    module = Planted(6, 8).requires_grad_(False)
    z = torch.randn(1, 1, 6)
    with branching(module) as branches:
        assert torch.equal(module(z), module(z))
    assert branches == []
