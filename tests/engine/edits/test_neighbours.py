"""Interchanged neighbours, in truth and to first order, and what stands in the way of edits."""

import pytest
import tiny
import torch
from torch import nn

from coupling_core import measure, wrap
from coupling_core.base.edits import Edit
from coupling_core.engine.edits.neighbours import exchange, jacobian_product
from coupling_core.engine.edits.obstacles import Obstacles
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.jacobians.decode import read

IDS = [5, 17, 200, 31, 8]


class Linear(nn.Module):
    """x + x Q diag(s) Q^T, which commutes with all others of the same Q."""

    def __init__(self, Q, s):
        super().__init__()
        self.weight = nn.Parameter(Q @ torch.diag(s) @ Q.T)

    def forward(self, x):
        return x + x @ self.weight


def commuting(depth=5, d=12):
    torch.manual_seed(0)
    Q, _ = torch.linalg.qr(torch.randn(d, d))
    blocks = nn.Sequential(*(Linear(Q, torch.randn(d) / 2) for _ in range(depth)))
    return nn.Sequential(nn.Embedding(300, d), blocks, nn.LayerNorm(d), nn.Linear(d, 300)).eval()


def test_blocks_that_commute_are_interchanged_at_no_cost_and_that_is_predicted():
    model = commuting()
    wrapped = wrap(model, blocks=model[1], final_norm=model[2])
    found = measure(IDS, model=wrapped, kind="what-if", store=None)
    exchanged = [edit.startswith("interchange") for edit in found.edits]
    assert found.divergence[exchanged].max() < 1e-9
    skipped = [edit.startswith("skip") for edit in found.edits]
    assert found.divergence[skipped].max() > 1e-2
    assert found.exchange_true.max() < 1e-5
    assert found.exchange_predicted.max() < 1e-5


def test_what_is_predicted_is_the_bracket_of_the_two_maps():
    replays = Replays(read(tiny.model("llama", attention="eager"), IDS))
    found = exchange(replays, 2)
    lower, upper = replays.call(2), replays.call(3)
    X = lower.hidden.clone()

    def residual(call):
        return lambda x: call.replay(x) - x

    f, g = residual(lower)(X), residual(upper)(X)
    of_g = torch.autograd.functional.jvp(residual(upper), X, f)[1]
    of_f = torch.autograd.functional.jvp(residual(lower), X, g)[1]
    size = upper.output.norm(dim=-1)[0]
    torch.testing.assert_close(found.predicted, (of_g - of_f).norm(dim=-1)[0] / size)
    y = X + g
    true = upper.output - lower.replay(y)
    torch.testing.assert_close(found.true, true.norm(dim=-1)[0] / size)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_products_are_derivatives_over_the_whole_sequence(family):
    replays = Replays(read(tiny.model(family), IDS))
    call = replays.call(2)
    torch.manual_seed(0)
    v = torch.randn_like(call.hidden)
    found = jacobian_product(call, 2, v)
    h = 1e-3
    with torch.no_grad():
        above, below = call.replay(call.hidden + h * v), call.replay(call.hidden - h * v)
    expected = (above - below) / (2 * h) - v
    assert (found - expected).norm() < 0.01 * expected.norm()


class Reading(nn.Module):
    """A block that reads what the first one computed, beside its state."""

    def __init__(self, d):
        super().__init__()
        self.own, self.other = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, shared):
        return x + self.own(x) + self.other(shared)


class Sharing(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.blocks, self.norm, self.head = commuting(depth=4)
        self.blocks[2] = Reading(12)

    def forward(self, ids):
        x = shared = self.tokens(ids)
        for number, block in enumerate(self.blocks):
            x = block(x, shared) if number == 2 else block(x)
            if number == 0:
                shared = torch.tanh(x)
        return self.head(self.norm(x))


def test_a_block_that_reads_more_than_its_state_is_run_nowhere_else_and_behind_no_edit():
    model = Sharing().eval()
    replays = Replays(read(wrap(model, blocks=model.blocks, final_norm=model.norm), IDS))
    obstacles = Obstacles(replays)
    why = obstacles.in_slot(4, 3)
    assert "block 3 takes more from earlier blocks than their state" in why
    assert obstacles.of(Edit("skip", (1,))) == why
    assert obstacles.of(Edit("interchange", (2, 4))) == why
    assert obstacles.of(Edit("skip", (4,))) == ""
    assert obstacles.in_slot(4, 2) == ""
