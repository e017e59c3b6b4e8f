"""A Jacobian that is 1 % wrong is refused, wherever it is wrong; one that is right passes."""

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core import ComputeError
from coupling_core.engine import ways_taken
from coupling_core.engine.jacobians import derivative_check
from coupling_core.engine.jacobians.between_tokens import through_all
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.jacobians.derivative_check import (
    GRADIENT_TOLERANCE,
    check_between,
    check_derivative,
    checked_jacobian,
    exact_error,
    gradient_error,
)
from coupling_core.engine.jacobians.same_token import block_jacobian

D = 64
IDS = [5, 17, 42, 8, 99, 17, 3]


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def block(size=1.0, gradient=None):
    """A norm, a map with a spectrum that falls, a curve: as deep in a network as its states are
    large. `gradient` is put behind what is given back."""
    U, V = (torch.linalg.qr(drawn(D, D, seed=s))[0] for s in (1, 2))
    W = U * torch.logspace(0, -2, D) @ V.T

    def replay(z):
        x = z[0, 0]
        normed = x / x.square().mean().sqrt()
        branch = W.to(x) @ torch.tanh(normed)
        return x + (branch if gradient is None else gradient.apply(branch))

    def at(x):
        return Block(1, x, replay(x[None, None]), nn.Identity(), replay, lambda: at(x.double()))

    return at(size * drawn(D) / D**0.5)


def wrong(J, where):
    """J with an error of 1 % of its norm: all over, in one direction, or in its leading ones."""
    U, s, Vh = torch.linalg.svd(J)
    kinds = {
        "all over": drawn(D, D, seed=3),
        "one direction": torch.outer(drawn(D, seed=4), drawn(D, seed=5)),
        "leading": U[:, :8] * s[:8] @ Vh[:8],
        "trailing": U[:, 8:] * s[8:] @ Vh[8:],
        "turned": U[:, :8] @ torch.diag(s[:8]) @ Vh[8:16],
    }
    return J + 0.01 * J.norm() * kinds[where] / kinds[where].norm()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_a_right_jacobian_passes_however_large_the_states(size):
    right = block(size)
    J = block_jacobian(right)
    assert gradient_error(right, J) <= GRADIENT_TOLERANCE
    assert check_derivative(right, J) < 2e-3
    assert relative(checked_jacobian(right).double(), block_jacobian(right.doubled())) < 1e-5


@pytest.mark.parametrize("where", ["all over", "one direction", "leading", "trailing", "turned"])
def test_one_percent_is_seen(where):
    for size in (1.0, 1e4):
        right = block(size)
        J = wrong(block_jacobian(right), where)
        assert gradient_error(right, J) > GRADIENT_TOLERANCE
        if size == 1.0 and where in ("all over", "leading"):  # by differences alone
            with pytest.raises(ComputeError, match="block 1"):
                check_derivative(right, J)


class Approximate(torch.autograd.Function):
    """A step whose gradient is 1 % too large, as those of some kernels are by more."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return 1.01 * gradient


def test_approximate_gradients_are_refused():
    for size in (1e-3, 1e4):
        with pytest.raises(ComputeError, match="approximate"):
            checked_jacobian(block(size, Approximate))


def test_a_token_from_which_all_are_hidden_is_refused():
    # Its scores are lost beside those of the mask, and its gradients still go through them.
    keys, values = drawn(5, D), drawn(5, D, seed=1)

    def attending(hidden):
        def replay(z):
            x = z[0, 0]
            scores = (torch.cat([keys, x[None]]) @ x) + hidden
            return x + torch.softmax(scores, 0) @ torch.cat([values, torch.tanh(x)[None]])

        x = drawn(D, seed=2) / D
        return Block(1, x, replay(x[None, None]), nn.Identity(), replay)

    checked_jacobian(attending(0.0))
    with pytest.raises(ComputeError, match="mask"):
        checked_jacobian(attending(torch.finfo().min))


def test_a_fast_way_that_is_off_gives_way_to_the_definition(monkeypatch):
    right = block()
    true = block_jacobian(right)

    def sometimes(of, norm=None):
        return wrong(true, "turned") if of.fast else block_jacobian(of, norm)

    monkeypatch.setattr(derivative_check, "block_jacobian", sometimes)
    assert torch.equal(checked_jacobian(right), true)
    monkeypatch.setattr(derivative_check, "block_jacobian", lambda *_: wrong(true, "turned"))
    with pytest.raises(ComputeError, match="gradients give"):
        checked_jacobian(right)


def test_of_a_small_jacobian_it_is_told_that_its_block_does_not_run_in_float64():
    W, x = 1e-4 * drawn(D, D), drawn(D)
    linear = Block(1, x, x + W @ x, nn.Identity(), lambda z: z[0, 0] + W @ z[0, 0])
    with ways_taken.noting() as notes:
        assert relative(checked_jacobian(linear), W) < 1e-2
    assert "a small Jacobian in float32 (its block does not run in float64)" in notes.ways


def test_one_percent_between_two_tokens_is_seen():
    call = read(tiny.model("llama"), IDS).whole[1]
    J = dict(enumerate(through_all(call, 5, None)[:5], 1))
    check_between(call, 2, 5, J)
    for which in (2, 5):
        with pytest.raises(ComputeError, match="block 2"):
            check_between(call, 2, 5, {which: 1.01 * J[which]})


def test_weights_are_as_they_were_after_a_check_in_float64():
    model = tiny.model("llama")
    before = {name: (w.data_ptr(), w.clone()) for name, w in model.state_dict().items()}
    moment = read(model, IDS).at(7)
    with pytest.raises(ComputeError):
        check_derivative(moment.blocks[1], 1.01 * block_jacobian(moment.blocks[1]))
    for name, weight in model.state_dict().items():
        at, expected = before[name]
        assert weight.data_ptr() == at
        assert torch.equal(weight, expected)


def test_a_tensor_that_a_hook_brings_along_takes_part_in_float64():
    model, u = tiny.model("llama"), drawn(32)
    model.model.layers[1].register_forward_hook(lambda _, x, out: out + 0.1 * (out @ u)[..., None])
    call = read(model, IDS).whole[1]
    J = through_all(call, 5, None)[4]
    assert exact_error(call, 5, {5: J}) < 1e-5
    assert exact_error(call, 5, {5: 1.01 * J}) > 5e-3
