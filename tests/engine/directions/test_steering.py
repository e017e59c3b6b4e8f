"""Directions added to states and subspaces taken out, against hooks in the model itself."""

import numpy as np
import pytest
import tiny
import torch

from coupling_core.engine import reference
from coupling_core.engine.directions.ablation import ablate, random_frames
from coupling_core.engine.directions.outcome import Outcomes
from coupling_core.engine.directions.readouts import random_units
from coupling_core.engine.directions.steering import rest, steer, steered
from coupling_core.engine.edits.replays import Replays
from coupling_core.engine.jacobians.decode import read

IDS = [3, 1, 4, 1, 5, 9]
N, D, BLOCK = len(IDS), 32, 2


def prepared(model, at_once=None):
    replays = Replays(read(model, IDS), at_once)
    return replays, Outcomes(replays, N)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def tried(request):
    model = tiny.model(request.param)
    return model, *prepared(model)


@pytest.fixture(scope="module")
def directions():
    return random_units(3, D, torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def exact():
    """A model that computes in float64 wherever it can."""
    model = tiny.model("gpt2", attention="eager").double()
    return model, *prepared(model)


@pytest.mark.parametrize("token", [N, 2], ids=["last", "earlier"])
def test_steering_is_that_of_a_hook_in_the_model(tried, directions, token):
    model, replays, outcomes = tried
    found = steer(replays, outcomes, BLOCK, [token], directions, (0.1, -1.0))
    length = replays.states[BLOCK, token - 1].norm()
    with torch.no_grad():
        own = model(torch.tensor([IDS])).logits[0, -1]
        for number, divergence in enumerate(found.divergence):
            size, direction = (0.1, -1.0)[number % 2], directions[number // 2]
            shift = size * length * direction
            said = reference.steered_logits(model, IDS, BLOCK, token, shift)[-1]
            expected = reference.divergence(own[None], said[None])[0]
            assert float(divergence) == pytest.approx(float(expected), rel=1e-3, abs=1e-9)
            change = said.double().log_softmax(-1) - own.double().log_softmax(-1)
            assert int(found.ids[number, 0, 0]) == int(change.argmax())
            assert int(found.ids[number, 1, 0]) == int(change.argmin())
            torch.testing.assert_close(
                found.change[number, 0, 0], change.max(), rtol=1e-3, atol=1e-5
            )


def test_a_size_of_nothing_and_an_empty_frame_change_nothing_to_the_bit(tried, directions):
    _, replays, outcomes = tried
    found = steer(replays, outcomes, BLOCK, [N], directions, (0.0, 0.5))
    assert (found.divergence[::2] == 0).all()
    assert (found.change[::2] == 0).all()
    assert (found.divergence[1::2] > 0).all()
    found = ablate(replays, outcomes, N, {2: torch.zeros(2, D, 0), 3: torch.zeros(2, D, 0)})
    assert found.divergence.tolist() == [0.0, 0.0]
    assert (found.change == 0).all()


def test_small_sizes_follow_the_derivative_to_second_order(exact, directions):
    """What is left of the change after the first order falls as the square over four decades."""
    model, replays, outcomes = exact
    direction, length = directions[0].double(), replays.states[BLOCK, N - 1].norm()

    def logits(e):
        return reference.steered_logits(model, IDS, BLOCK, N, e * length * direction)[-1]

    zero = torch.zeros((), dtype=torch.float64)
    _, slope = torch.autograd.functional.jvp(logits, zero, torch.ones_like(zero))
    sizes = torch.logspace(-4.5, -0.5, 5, dtype=torch.float64)
    states = steered(replays, BLOCK, [N], sizes[:, None] * direction)
    said = outcomes.said(rest(replays, BLOCK, states))
    own = outcomes.said(replays.states[-1:])
    left = (said - own - sizes[:, None] * slope).norm(dim=1)
    orders = np.diff(np.log10(left.numpy()))
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


@pytest.mark.parametrize("blocks", [(2,), (1, 2, 3, 4)], ids=str)
def test_ablation_is_that_of_hooks_in_the_model(tried, blocks):
    model, replays, outcomes = tried
    generator = torch.Generator().manual_seed(2)
    frames = {b: random_frames(3, D, 4, generator) for b in blocks}
    found = ablate(replays, outcomes, N, frames)
    with torch.no_grad():
        own = model(torch.tensor([IDS])).logits[0, -1]
    for number, divergence in enumerate(found.divergence):
        chosen = {b: frame[number].float() for b, frame in frames.items()}
        said = reference.ablated_logits(model, IDS, chosen, N)[-1]
        expected = float(reference.divergence(own[None], said[None])[0])
        assert float(divergence) == pytest.approx(expected, rel=1e-3, abs=1e-9)


def test_without_a_head_the_last_state_is_compared():
    replays, outcomes = prepared(tiny.model("llama").model)
    found = steer(replays, outcomes, 4, [N], random_units(1, D, torch.Generator()), (0.0, 0.25))
    assert outcomes.measured == "states"
    assert found.divergence.tolist() == pytest.approx([0.0, 0.25], rel=1e-5)
