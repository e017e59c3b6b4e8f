"""Branches of a block: what is found, and its Jacobian in forward mode."""

import warnings

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core.engine.jacobians.attention_heads import CHUNK
from coupling_core.engine.jacobians.branches import branching
from coupling_core.engine.jacobians.cached_attention import Joined
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.gradients import batched_gradients, gradients_by
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace

IDS = [5, 17, 42, 8, 99, 17, 3]


class Gated(nn.Module):
    """An MLP whose gate is an activation; in some ways it is more than that."""

    def __init__(self, width, hidden, way=None):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.way = way

    def forward(self, x):
        if self.way == "replacing its weights":  # as some routers do
            self.gate.weight.data = self.gate.weight.data.to(x.dtype)
        hidden = torch.tanh(self.gate(x)) * self.up(x)
        if self.way == "mixing":  # no longer entry by entry
            hidden = hidden.softmax(-1) * 3
        given = self.down(hidden)
        return (given, hidden.mean()) if self.way == "giving two" else given


class Planted(nn.Module):
    """A block of two branches, the second of which sees the first."""

    def __init__(self, width, hidden, way=None):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first, self.second = Gated(width, hidden, way), Gated(width, hidden)

    def forward(self, x):
        first = self.first(self.norm(x))
        x = x + (first[0] * first[1] if isinstance(first, tuple) else first)
        return x + self.second(self.norm(x))


def captured(module, width):
    x = torch.randn(width, generator=torch.Generator().manual_seed(3)).to(module.norm.weight)

    def replay(z):
        return module(z)[0, 0]

    return Block(1, x, replay(x[None, None]).detach(), module, replay)


@pytest.mark.parametrize(
    ("width", "hidden", "way"),
    [
        (6, 20, None),
        (6, 6, "mixing"),
        (6, 8, "giving two"),
        (6, 8, "replacing its weights"),
        (CHUNK + 30, 8, None),
    ],
)
def test_a_planted_block_has_the_jacobian_of_a_backward_pass(width, hidden, way):
    torch.manual_seed(0)
    block = captured(Planted(width, hidden, way).double().requires_grad_(False), width)
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


def test_a_past_kept_apart_is_the_whole_tensor_in_whatever_is_done_with_it():
    """Heads of six tokens, the last of which is measured; and what leaves it apart."""
    whole, q, w = (torch.randn(1, 2, n, m).double() for n, m in ((6, 4), (3, 4), (3, 6)))
    joined = Joined(whole[:, :, :5], whole[:, :, 5:], -2)
    assert joined.size() == whole.shape
    assert (joined.size(-2), joined.ndim, joined.dtype) == (6, 4, torch.float64)
    apart = (
        lambda x: x.transpose(-1, -2),
        lambda x: x.contiguous().to(torch.float32),
        lambda x: x[:, :, None, :, :].expand((1, 2, 3, 6, 4)).reshape(1, 6, 6, 4),
    )
    together = (
        lambda x: x[:, :, 1:],
        lambda x: x.reshape(1, 2, 24),
        lambda x: x.softmax(-1),
        lambda x: torch.stack([x, x]),
        lambda x: w @ x,
        lambda x: w[:, :1] @ x,
        lambda x: torch.matmul(q, x.transpose(-1, -2)),
        lambda x: torch.matmul(w[0, 0], x[0, 0]),
    )
    for number, of in enumerate((*apart, *together)):
        found = of(joined)
        assert isinstance(found, Joined) == (number < len(apart)), number
        found = found.whole() if isinstance(found, Joined) else found
        assert torch.allclose(found, of(whole)), number


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
