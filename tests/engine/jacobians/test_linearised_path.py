"""Products with Jacobians against the dense ones, in every family, and what is made of them."""

import pytest
import tiny
import torch
from checks import relative

from coupling_core import ComputeError
from coupling_core.engine.jacobians import linearised_path
from coupling_core.engine.jacobians.decode import decode, read
from coupling_core.engine.jacobians.linearised_path import linearised_errors, products
from coupling_core.engine.jacobians.same_token import block_jacobian

IDS = [5, 9, 2, 7, 11, 3]
CASES = [(family, None) for family in tiny.CAUSAL + tiny.BIDIRECTIONAL]
CASES += [(family, stack) for family in tiny.TWO_STACKS for stack in ("encoder", "decoder")]
FAMILIES = [
    pytest.param(*case, marks=() if case[0] in (*tiny.SHORT, "bert", "t5") else pytest.mark.slow)
    for case in CASES
]


def captured(reader, token):
    return next(decode(reader, range(1, reader.n_blocks + 1), [token]))


@pytest.mark.parametrize("token", [1, 4, 6])
@pytest.mark.parametrize(("family", "stack"), FAMILIES)
def test_products_are_those_of_the_dense_jacobian(family, stack, token):
    reader = read(tiny.model(family), IDS, stack=stack)
    V = torch.randn(3, 32, generator=torch.Generator().manual_seed(token))
    for capture in captured(reader, token):
        is_last = capture.block.number == reader.n_blocks
        norm = reader.kind.final_norm if is_last else None
        J = block_jacobian(capture.block, norm)
        assert relative(products(capture.block, V, norm), V @ J.T) < 1e-5


@pytest.mark.parametrize("with_norm", [True, False])
@pytest.mark.parametrize("family", ["llama", "bert"])
def test_a_rolled_out_path_is_the_product_of_dense_matrices(family, with_norm):
    reader = read(tiny.model(family), IDS)
    norm = reader.kind.final_norm if with_norm else None
    captures = captured(reader, 5)
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
    captures = captured(read(tiny.model("llama"), IDS), 3)
    true = linearised_path.products
    monkeypatch.setattr(linearised_path, "products", lambda *given: 1.2 * true(*given))
    with pytest.raises(ComputeError, match="block 1 is not the derivative"):
        linearised_errors(captures, None)


def test_a_linear_block_has_no_error(monkeypatch):
    """Blocks that multiply by a matrix are their own linearisation."""
    captures = captured(read(tiny.model("llama"), IDS), 6)
    W = torch.randn(32, 32, generator=torch.Generator().manual_seed(0)) / 6
    x, linear = torch.ones(32), []
    for capture in captures:
        block = type(capture.block)(
            capture.block.number, x, W @ x, capture.block.module, lambda z: (z @ W.T)[0, 0]
        )
        linear.append(type(capture)(block, 6, None))
        x = W @ x
    found = linearised_errors(linear, None)
    assert found.one_step.max() < 1e-5
    assert found.rolled_out.max() < 1e-5
