"""Noise followed through the blocks, against hooks in the model and blocks with known answers."""

import numpy as np
import pytest
import tiny
import torch
from torch import nn

from coupling_core import measure, perturbation_radius, wrap
from coupling_core.engine import reference
from coupling_core.engine.perturbation import DRAWS, noise
from coupling_core.kinds.perturbation.compose import SIZES

IDS, TOKEN = [3, 1, 4, 1, 5, 9], 5
STATES = ("distance", "cosine", "linear_distance", "linear_cosine", "error")


def states_of(model, blocks, shift=None):
    """x^0 .. x^L at the token, of the model run with a shift of x^0 there."""
    found = []

    def disturb(_, args, kwargs):
        states = args[0].clone()
        if shift is not None:
            states[0, TOKEN - 1] += shift
        found.append(states[0, TOKEN - 1])
        return (states, *args[1:]), kwargs

    def keep(_, args, output):
        found.append((output if isinstance(output, torch.Tensor) else output[0])[0, TOKEN - 1])

    hooks = [blocks[0].register_forward_pre_hook(disturb, with_kwargs=True)]
    hooks += [block.register_forward_hook(keep) for block in blocks]
    with torch.no_grad():
        model(torch.tensor([IDS]))
    for hook in hooks:
        hook.remove()
    return torch.stack(found).double()


@pytest.mark.parametrize("family", ["gpt2", pytest.param("bert", marks=pytest.mark.full)])
def test_noise_is_that_of_a_hook_in_the_model(family):
    model = tiny.model(family)
    asked = {"kind": "perturbation", "token": TOKEN, "final_norm": "exclude", "store": None}
    result = measure(IDS, model=model, **asked)
    blocks = reference.find_blocks(model)
    own = states_of(model, blocks)
    last = len(blocks)
    J = [reference.block_jacobian(model, IDS, b, TOKEN, TOKEN).double() for b in range(1, last + 1)]
    _, _, vh = torch.linalg.svd(J[0])
    units = noise(vh.T[:, : int(result.directions)].float(), result.directions)
    for way, size, draw in ((0, 4, 0), (0, 7, 31), (2, 5, 9)):
        w = units[way, draw].double()
        shift = SIZES[size] * own[0].norm() * w
        true = states_of(model, blocks, shift.float()) - own
        linear = [shift]
        for jacobian in J:
            linear.append(linear[-1] + jacobian @ linear[-1])
        first = torch.stack(linear)
        lengths = own.norm(dim=1)
        expected = {
            "distance": true.norm(dim=1) / lengths,
            "cosine": torch.cosine_similarity(own + true, own, dim=1),
            "linear_distance": first.norm(dim=1) / lengths,
            "linear_cosine": torch.cosine_similarity(own + first, own, dim=1),
            "error": (true - first).norm(dim=1) / true.norm(dim=1),
        }
        for name in STATES:
            found = getattr(result, name)[way, size, draw]
            np.testing.assert_allclose(found, expected[name], rtol=5e-3, atol=2e-3, err_msg=name)


def test_the_final_norm_belongs_to_the_last_block_unless_told():
    model = tiny.model("llama")
    model.model.norm.weight.data = torch.linspace(0.2, 3, 32)
    result = measure(IDS, model=model, kind="perturbation", token=TOKEN, store=None)
    norm, blocks = model.model.norm, reference.find_blocks(model)
    own = states_of(model, blocks)
    shift = 0.3 * own[0].norm() * noise(torch.eye(32), 32)[0, 3].double()
    with torch.no_grad():
        before = norm(own[-1:].float()).double()
        after = norm(states_of(model, blocks, shift.float())[-1:].float()).double()
    expected = float((after - before).norm() / before.norm())
    assert result.distance[0, SIZES.index(0.3), 3, -1] == pytest.approx(expected, rel=1e-3)
    small = result.error[0, SIZES.index(0.01), :, -1]
    assert np.median(small) < 0.05  # its Jacobian has the norm too


class Own(nn.Module):
    """Blocks of which each works on a token by itself."""

    def __init__(self, *blocks):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return x


class Linear(nn.Module):
    def __init__(self, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(8, 8, generator=generator) / 4)

    def forward(self, x):
        return x + x @ self.weight


class Square(nn.Module):
    def forward(self, x):
        return x + 0.1 * x * x


def measured(*blocks):
    torch.manual_seed(0)
    own = Own(*blocks)
    wrapped = wrap(own, blocks=own.blocks, forward=lambda model, ids: model(ids))
    return own, measure(IDS, model=wrapped, kind="perturbation", store=None)


@pytest.mark.full
def test_first_order_of_linear_blocks_is_never_off():
    _, result = measured(*map(Linear, range(3)))
    assert result.error[:, 1:].max() < 1e-3
    assert (perturbation_radius(result) == np.inf).all()
    np.testing.assert_allclose(result.linear_distance, result.distance, rtol=1e-3)


def test_of_a_square_it_is_off_by_what_it_must_be():
    own, result = measured(Square())
    x = own.embed.weight[IDS[-1]].detach().double()
    units = noise(torch.eye(8), 8)[0].double()
    for size, e in enumerate(SIZES):
        d = e * x.norm() * units
        linear, true = d + 0.2 * x * d, d + 0.2 * x * d + 0.1 * d * d
        expected = (true - linear).norm(dim=1) / true.norm(dim=1)
        found = result.error[0, size, :, 1]
        if e >= 0.01:  # below it float32 counts
            np.testing.assert_allclose(found, expected, rtol=0.02)


@pytest.mark.full
def test_along_a_first_block_of_one_direction_all_noise_is_the_same_up_to_its_sign():
    class OfOne(nn.Module):
        def forward(self, x):
            return x + 2 * x[..., :1] * torch.eye(8)[0]

    _, result = measured(OfOne(), Linear(1))
    np.testing.assert_allclose(result.distance[1, 0, :, 0], SIZES[0], rtol=1e-3)
    growth = result.distance[..., 1] / result.distance[..., 0]
    np.testing.assert_allclose(growth[1], growth[1, 4, 0], rtol=1e-2)
    assert np.ptp(growth[0, 4]) > 0.1


def test_noise_lies_where_it_is_said_to():
    frame = torch.linalg.qr(torch.randn(40, 5, generator=torch.Generator().manual_seed(1)))[0]
    anywhere, along, random = noise(frame, 5)
    for units in (anywhere, along, random):
        assert units.shape == (DRAWS, 40)
        torch.testing.assert_close(units.norm(dim=1), torch.ones(DRAWS))
    torch.testing.assert_close(along @ frame @ frame.T, along)
    assert (anywhere @ frame).norm(dim=1).mean() < 0.6
    assert torch.linalg.matrix_rank(random).item() == 20  # four frames of five
    assert torch.equal(noise(frame, 5), torch.stack([anywhere, along, random]))
