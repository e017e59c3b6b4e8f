"""Branches of a block: what is found, and its Jacobian in forward mode."""

import warnings

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.jacobians.branches import branching
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.gradients import batched_gradients, gradients_by
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


@pytest.mark.parametrize(
    ("width", "hidden", "mix"), [(6, 20, False), (6, 6, True), (CHUNK + 30, 8, False)]
)
def test_a_planted_block_has_the_jacobian_of_a_backward_pass(width, hidden, mix):
    torch.manual_seed(0)
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


# --- cotangents pulled back together


def test_a_batch_is_what_each_row_is_alone_and_what_is_not_reached_is_none_or_zero():
    x = torch.linspace(-1, 2, 16)[None].requires_grad_()
    y = nn.LayerNorm(16)(x) * 2 + x
    other, rows = torch.randn(3, requires_grad=True), torch.randn(5, 1, 16)
    nothing, found = batched_gradients(y, [other, x], rows)
    assert nothing is None
    for row, one in zip(found, rows, strict=True):
        (alone,) = torch.autograd.grad(y, x, one, retain_graph=True)
        assert torch.allclose(row, alone, atol=1e-6)
    assert torch.equal(gradients_by(y, other, rows), torch.zeros(5, 3))


def test_a_kernel_without_a_batch_goes_through_without_a_warning():
    q = torch.randn(1, 2, 8, 4, requires_grad=True)
    y = nn.functional.scaled_dot_product_attention(q, q.detach(), q.detach())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = batched_gradients(y, [q], torch.randn(3, *y.shape))
    assert found.shape == (3, *q.shape)
