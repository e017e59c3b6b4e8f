"""One block's Jacobian as it is: to the bit what a measurement has of it, and checked."""

import copy

import numpy as np
import pytest
import tiny
import torch

from coupling_core import Request, jacobian, measure
from coupling_core.engine import reference

IDS = (3, 1, 4, 1, 5)


@pytest.mark.parametrize("block", [2, -1])
def test_it_is_that_of_a_measurement_to_the_bit(llama, block):
    result = measure(Request(IDS, token=3, k=5), model=llama)
    found = jacobian(llama, IDS, block=block, token=3, k=5)
    row = found.block - 1
    assert found.block == (block if block > 0 else result.n_blocks)
    np.testing.assert_array_equal(found.s, result.singular_values[row, :5])
    assert found.certificate == result.certificates[row]
    diagonal = np.einsum("dk,de,ek->k", found.u, found.J, found.v)
    np.testing.assert_allclose(diagonal, result.diagonal[0, row, row, :5], rtol=1e-4)
    assert np.linalg.norm(found.J) == pytest.approx(result.jacobian_norm[row], rel=1e-6)


def test_it_is_the_definition_s_with_its_triplets(llama):
    found = jacobian(llama, torch.tensor(IDS), block=1, token=-2)
    expected = reference.block_jacobian(llama, list(IDS), 1, 4, 4)
    np.testing.assert_allclose(found.J, expected.numpy(), atol=1e-5)
    found = jacobian(llama, list(IDS), block=2, k=6)
    assert found.J.shape == (found.u.shape[0],) * 2
    assert (found.u.shape[1], found.s.shape, found.v.shape[1]) == (6, (6,), 6)
    np.testing.assert_allclose(found.s, np.linalg.svd(found.J)[1][:6], rtol=1e-5)
    np.testing.assert_allclose(found.J @ found.v, found.u * found.s, atol=1e-4)
    assert found.certificate.certified
    assert 0 < found.derivative_error < 2e-3
    assert found.tokens[found.token - 1] in repr(found)


def test_it_has_the_state_at_which_it_was_taken_a_sentence_and_a_table(llama):
    found = jacobian(llama, IDS, block=2, token=3, k=6)
    with torch.no_grad():
        states = llama(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found.state, states[1][0, 2].numpy(), atol=1e-6)
    table = found.to_pandas()
    assert table.component.to_list() == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(table.share, found.s**2 / np.linalg.norm(found.J) ** 2, rtol=1e-5)
    whose = {"model": found.model, "block": 2, "token": 3, "prompt": " ".join(found.tokens)}
    assert table.attrs == whose | {"certificate": "certified", "K": 6, "precision": "float32"}
    assert f"{found.s[0]:.3f}" in found.verdict
    assert f"{round(100 * table.share.sum())}\u00a0%" in found.verdict


def test_a_model_may_be_named(tmp_path):
    where = tiny.folder(tmp_path / "model")
    found = jacobian(where, "The cat sat", block=1, k=4, untrained=3)
    expected = measure("The cat sat", None, model=where, k=4, untrained=3)
    np.testing.assert_array_equal(found.s, expected.singular_values[0, :4])
    assert found.model == expected.model_name == "model, untrained (seed 3)"


def test_the_last_block_says_whether_the_final_norm_is_in_it(llama):
    found = {}
    for final_norm in ("include", "exclude"):
        last = found[final_norm] = jacobian(llama, IDS, block=-1, final_norm=final_norm)
        words = f"final norm {final_norm}d"
        assert last.final_norm == last.to_pandas().attrs["final_norm"] == words
        assert words in repr(last)
        first = jacobian(llama, IDS, block=1, final_norm=final_norm)
        assert first.final_norm == ""
        assert "final norm" not in repr(first) + first.verdict
    assert found["include"].verdict != found["exclude"].verdict
    assert not np.array_equal(found["include"].J, found["exclude"].J)


def test_where_a_norm_shrinks_the_state_the_last_jacobian_is_near_minus_one(llama):
    """As its verdict says: all that is left of the whole block is small."""
    shrinking = copy.deepcopy(llama)
    with torch.no_grad():
        shrinking.model.norm.weight.mul_(1e-3)
    last = jacobian(shrinking, IDS, block=-1)
    np.testing.assert_allclose(last.J, -np.eye(len(last.J)), atol=0.05)
    np.testing.assert_allclose(last.s, 1, atol=0.05)
