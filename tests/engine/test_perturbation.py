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


def states_of(model, blocks, norm, shift=None):
    """x^0 .. x^L at the token, of the model run with a shift of x^0 there; the last one normed."""
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
        found[-1] = norm(found[-1])
    for hook in hooks:
        hook.remove()
    return torch.stack(found).double()


@pytest.mark.parametrize("final_norm", ["include", "exclude"])
def test_noise_is_that_of_a_hook_in_the_model(final_norm):
    model = tiny.model("gpt2")
    model.transformer.ln_f.weight.data = torch.linspace(0.2, 3, 32)
    asked = {"kind": "perturbation", "token": TOKEN, "final_norm": final_norm, "store": None}
    result = measure(IDS, model=model, **asked)
    blocks = reference.find_blocks(model)
    norm = model.transformer.ln_f if final_norm == "include" else nn.Identity()
    own = states_of(model, blocks, norm)
    J = [
        reference.block_jacobian(
            model, IDS, block, TOKEN, TOKEN, norm if block == len(blocks) else None
        ).double()
        for block in range(1, len(blocks) + 1)
    ]
    _, _, vh = torch.linalg.svd(J[0])
    units = noise(vh.T[:, : int(result.directions)].float(), result.directions)
    for way, size, draw in ((0, 4, 0), (0, 7, 31), (2, 5, 9)):
        shift = SIZES[size] * own[0].norm() * units[way, draw].double()
        true = states_of(model, blocks, norm, shift.float()) - own
        linear = [shift]
        for jacobian in J:
            linear.append(linear[-1] + jacobian @ linear[-1])
        first, lengths = torch.stack(linear), own.norm(dim=1)
        expected = {
            "distance": true.norm(dim=1) / lengths,
            "cosine": torch.cosine_similarity(own + true, own, dim=1),
            "linear_distance": first.norm(dim=1) / lengths,
            "linear_cosine": torch.cosine_similarity(own + first, own, dim=1),
            "error": (true - first).norm(dim=1) / true.norm(dim=1),
        }
        for name, values in expected.items():
            found = getattr(result, name)[way, size, draw]
            np.testing.assert_allclose(found, values, rtol=5e-3, atol=2e-3, err_msg=name)


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(8, 8, generator=generator) / 4)

    def forward(self, x):
        return x + x @ self.weight


class OfOne(nn.Module):
    """Looks at one direction."""

    def forward(self, x):
        return x + 2 * x[..., :1] * torch.eye(8)[0]


def measured(block):
    """Noise followed through one block."""
    torch.manual_seed(0)
    own = nn.Sequential(nn.Embedding(10, 8), nn.Sequential(block))
    wrapped = wrap(own, blocks=own[1], forward=lambda model, ids: model(ids))
    return measure(IDS, model=wrapped, kind="perturbation", store=None)


@pytest.mark.full
def test_first_order_of_linear_blocks_is_never_off():
    result = measured(Linear())
    assert result.error[:, 1:].max() < 1e-3
    assert (perturbation_radius(result) == np.inf).all()
    np.testing.assert_allclose(result.linear_distance, result.distance, rtol=1e-3)


@pytest.mark.full
def test_along_a_first_block_of_one_direction_all_noise_is_the_same_up_to_its_sign():
    result = measured(OfOne())
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
