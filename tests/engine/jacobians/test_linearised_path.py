"""Products with Jacobians against the dense ones, in every family, and what is made of them."""

import pytest
import torch
from checks import relative
from family_matrix import reader, tiered
from torch import nn

from coupling_core import ComputeError
from coupling_core.engine.jacobians import linearised_path
from coupling_core.engine.jacobians.captured_block import Block
from coupling_core.engine.jacobians.decode import Capture, decode
from coupling_core.engine.jacobians.linearised_path import linearised_errors, products
from coupling_core.engine.jacobians.same_token import block_jacobian


def captured(name, token):
    reads = reader(name)
    return next(decode(reads, range(1, reads.n_blocks + 1), [token]))


@tiered(full=("mixtral", "t5-encoder"))
def test_products_are_those_of_the_dense_jacobian(name):
    reads = reader(name)
    for token in (1, 6):
        V = torch.randn(3, 32, generator=torch.Generator().manual_seed(token))
        for capture in captured(name, token):
            is_last = capture.block.number == reads.n_blocks
            norm = reads.kind.final_norm if is_last else None
            J = block_jacobian(capture.block, norm)
            assert relative(products(capture.block, V, norm), V @ J.T) < 1e-5


@pytest.mark.parametrize(("name", "with_norm"), [("llama3", True), ("bert", False)])
def test_a_rolled_out_path_is_the_product_of_dense_matrices(name, with_norm):
    norm = reader(name).kind.final_norm if with_norm else None
    captures = captured(name, 5)
    found = linearised_errors(captures, norm)
    rolled = captures[0].block.state
    for index, capture in enumerate(captures):
        is_last = index == len(captures) - 1
        block = capture.block
        step = torch.eye(32) + block_jacobian(block, norm if is_last else None)
        x = norm(block.output) if is_last and norm is not None else block.output
        rolled = step @ rolled
        expected = (step @ block.state - x).norm() / x.norm()
        assert found.one_step[index] == pytest.approx(float(expected), rel=1e-4)
        expected = (rolled - x).norm() / x.norm()
        assert found.rolled_out[index] == pytest.approx(float(expected), rel=1e-4)
    assert found.one_step[0] == pytest.approx(float(found.rolled_out[0]))


def test_the_check_refuses_gradients_that_are_not_the_derivative(monkeypatch):
    captures = captured("llama3", 3)
    true = linearised_path.products
    monkeypatch.setattr(linearised_path, "products", lambda *given: 1.2 * true(*given))
    with pytest.raises(ComputeError, match="block 1 is not the derivative"):
        linearised_errors(captures, None)


def test_a_linear_block_has_no_error():
    """Blocks that multiply by a matrix are their own linearisation."""
    W = torch.randn(32, 32, generator=torch.Generator().manual_seed(0)) / 6
    x, linear = torch.ones(32), []
    for number in (1, 2, 3):
        block = Block(number, x, W @ x, nn.Identity(), lambda z: (z @ W.T)[0, 0])
        linear.append(Capture(block, 6, None))
        x = W @ x
    found = linearised_errors(linear, None)
    assert max(found.one_step.max(), found.rolled_out.max()) < 1e-5
