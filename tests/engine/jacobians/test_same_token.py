"""One-token Jacobians of planted functions; those of real families stand in test_families.py."""

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core import ComputeError, InputError
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace

IDS = [5, 17, 42, 8, 99, 17, 3]


def drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def planted(J: torch.Tensor, x: torch.Tensor) -> Block:
    """F(z) - z = (J - 2 C diag(x)) z + C z^2, whose Jacobian at x is J."""
    C = torch.randn(J.shape, generator=torch.Generator().manual_seed(1)).to(J)

    def replay(z: torch.Tensor) -> torch.Tensor:
        z = z[0, 0]
        return z + (J - 2 * C * x) @ z + C @ z**2

    return Block(1, x, replay(x[None, None]), nn.Identity(), replay)


@pytest.mark.parametrize("width", [3, 1100])
def test_a_planted_jacobian_is_found_whatever_the_chunk(width):
    J, x = drawn(width, width), drawn(width)
    assert relative(block_jacobian(planted(J, x)), J) < 1e-12


def test_the_final_norm_belongs_to_the_block_when_it_is_included():
    J, x = drawn(8, 8), drawn(8)
    block, norm = planted(J, x), nn.LayerNorm(8, dtype=torch.float64)
    eye = torch.eye(8, dtype=torch.float64)
    outer = torch.autograd.functional.jacobian(norm, block.output)
    assert relative(block_jacobian(block, norm), outer @ (J + eye) - eye) < 1e-12


def test_the_one_token_path_would_be_wrong_where_attention_looks_ahead():
    # Why causality is probed: the later tokens matter to a bidirectional block.
    model = tiny.model("bert").double()
    with true_float64.TrueFloat64():
        alone = block_jacobian(trace(model, IDS[:4], 4).blocks[1])
        whole = block_jacobian(trace(model, IDS, 4).blocks[1])
        assert relative(alone, whole) > 0.01


ONES, ZEROS = torch.ones(4), torch.zeros(4)
NOT_DIFFERENTIATED = {
    "does nothing": (ComputeError, 3, ONES, ONES, lambda z: z[0, 0] * 1),
    "is not finite": (ComputeError, 2, ZEROS, ZEROS + 1, lambda z: 1 + z[0, 0].abs().sqrt()),
    "changes the width": (InputError, 1, ONES, ONES[:2], lambda z: z[0, 0, :2]),
    "is not what the model ran": (InputError, 1, ONES, 3 * ONES, lambda z: 2 * z[0, 0]),
}


@pytest.mark.parametrize("why", NOT_DIFFERENTIATED)
def test_a_block_without_a_jacobian_is_refused_by_its_number(why):
    error, number, state, output, replay = NOT_DIFFERENTIATED[why]
    with pytest.raises(error, match=rf"block {number}\b"):
        block_jacobian(Block(number, state, output, nn.Identity(), replay))
