"""One-token Jacobians against the definition, on planted functions and on real families."""

import copy

import pytest
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core import ComputeError, InputError
from coupling_core.engine import reference
from coupling_core.engine.jacobians import true_float64
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.same_token import block_jacobian
from coupling_core.engine.jacobians.trace import trace

IDS = [5, 17, 42, 8, 99, 17, 3]


def planted(J: torch.Tensor, x: torch.Tensor) -> Block:
    """F(z) - z = (J - 2 C diag(x)) z + C z^2, whose Jacobian at x is J."""
    C = torch.randn(J.shape, generator=torch.Generator().manual_seed(1)).to(J)

    def replay(z: torch.Tensor) -> torch.Tensor:
        z = z[0, 0]
        return z + (J - 2 * C * x) @ z + C @ z**2

    return Block(1, x, replay(x[None, None]), nn.Identity(), replay)


@pytest.mark.parametrize("width", [3, 40, 1100])
def test_a_planted_jacobian_is_found_whatever_the_chunk(width):
    generator = torch.Generator().manual_seed(0)
    J = torch.randn(width, width, generator=generator, dtype=torch.float64)
    x = torch.randn(width, generator=generator, dtype=torch.float64)
    assert relative(block_jacobian(planted(J, x)), J) < 1e-12


def test_the_final_norm_belongs_to_the_block_when_it_is_included():
    generator = torch.Generator().manual_seed(0)
    J = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    x = torch.randn(8, generator=generator, dtype=torch.float64)
    block, norm = planted(J, x), nn.LayerNorm(8, dtype=torch.float64)
    eye = torch.eye(8, dtype=torch.float64)
    outer = torch.autograd.functional.jacobian(norm, block.output)
    assert relative(block_jacobian(block, norm), outer @ (J + eye) - eye) < 1e-12


@pytest.mark.parametrize("token", [1, 4, 7])
@pytest.mark.parametrize("family", [*tiny.SHORT, "bert"])
def test_every_block_agrees_with_the_full_sequence_definition(family, token):
    model = copy.deepcopy(tiny.model(family)).double()
    with true_float64.TrueFloat64():
        traced = trace(model, IDS, token)
        assert traced.kind.causal == (family != "bert")
        for block in traced.blocks:
            expected = reference.block_jacobian(model, IDS, block.number, token, token)
            assert relative(block_jacobian(block), expected) < 1e-9


@pytest.mark.parametrize("family", tiny.SHORT)
def test_a_second_replay_of_a_block_gives_the_same_jacobian(family):
    block = trace(tiny.model(family), IDS, 7).blocks[1]
    assert torch.equal(block_jacobian(block), block_jacobian(block))


def test_without_the_skip_term_the_jacobian_differs_by_the_identity():
    model = tiny.model("llama").double()
    with true_float64.TrueFloat64():
        block = trace(model, IDS, 7).blocks[2]
        x = block.state[None, None].requires_grad_()
        with_skip = torch.autograd.functional.jacobian(block.replay, x)[:, 0, 0]
        eye = torch.eye(32, dtype=torch.float64)
        assert relative(block_jacobian(block) + eye, with_skip) < 1e-12


def test_the_one_token_path_would_be_wrong_where_attention_looks_ahead():
    # Why causality is probed: the later tokens matter to a bidirectional block.
    model = tiny.model("bert").double()
    with true_float64.TrueFloat64():
        alone = block_jacobian(trace(model, IDS[:4], 4).blocks[1])
        whole = block_jacobian(trace(model, IDS, 4).blocks[1])
        assert relative(alone, whole) > 0.01


def test_a_block_that_does_nothing_is_refused():
    x = torch.ones(4)
    with pytest.raises(ComputeError, match="exactly zero"):
        block_jacobian(Block(3, x, x, nn.Identity(), lambda z: z[0, 0] * 1))


def test_a_jacobian_that_is_not_finite_is_refused():
    x = torch.zeros(4)
    with pytest.raises(ComputeError, match="block 2 is not finite"):
        block_jacobian(Block(2, x, x + 1, nn.Identity(), lambda z: 1 + z[0, 0].abs().sqrt()))


def test_a_block_that_changes_the_width_is_refused():
    x = torch.ones(4)
    with pytest.raises(InputError, match="width 4 to 2"):
        block_jacobian(Block(1, x, x[:2], nn.Identity(), lambda z: z[0, 0, :2]))


def test_a_replay_that_is_not_what_the_model_ran_is_refused():
    x = torch.ones(4)
    with pytest.raises(InputError, match="does not replay"):
        block_jacobian(Block(1, x, 3 * x, nn.Identity(), lambda z: 2 * z[0, 0]))
