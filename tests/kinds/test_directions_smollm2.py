"""Directions of SmolLM2 against the full decomposition in float64, and the same again."""

import numpy as np
import pytest
import torch

from coupling_core import Request, measure
from coupling_core.analysis.directions import tied
from coupling_core.engine import reference

pytestmark = [pytest.mark.real, pytest.mark.slow]
REQUEST = Request("The capital of France is", kind="directions")
BLOCK = 16


@pytest.fixture(scope="module")
def exact(loaded, trained):
    """The full SVD of one block's Jacobian, taken row by row, in float64."""
    ids, last = trained.token_ids.tolist(), len(trained.token_ids)
    J = reference.block_jacobian(loaded.model, ids, BLOCK, last, last).double()
    return torch.linalg.svd(J)


def test_directions_are_those_of_the_full_decomposition(trained, exact):
    u, s, vh = exact
    np.testing.assert_allclose(trained.singular_values[BLOCK - 1], s[:32], rtol=1e-4)
    ties = tied(trained)[BLOCK - 1]
    alone = ~(ties | np.roll(ties, 1))
    assert alone.sum() > 20
    for side, full in (("u", u), ("v", vh.T)):
        cosine = np.abs((trained.basis(BLOCK, side) * full[:, :32].numpy()).sum(0))
        assert np.degrees(np.arccos(np.clip(cosine[alone], 0, 1))).max() < 5.8  # 0.1 radian


def test_readouts_are_those_of_a_loop_over_the_vocabulary(loaded, trained, exact):
    u, _, vh = exact
    weight = loaded.model.model.norm.weight
    W, E = loaded.model.lm_head.weight, loaded.model.model.embed_tokens.weight
    one = torch.ones_like(weight)
    for at, (direction, matrix, scale) in enumerate(
        [(u[:, 0], W, weight), (vh[0], W, weight), (vh[0], E, one)]
    ):
        peak, ends = reference.readout(matrix, scale, direction)
        assert float(trained.peakedness[at, BLOCK - 1, 0]) == pytest.approx(peak, rel=1e-3)
        assert set(trained.top[at, BLOCK - 1, 0, :, 0]) == set(ends)


def test_few_readouts_are_beyond_chance(trained):
    shares = trained.beyond_chance[..., :20].mean((1, 2))
    assert (shares < 0.2).all()


def test_signs_are_the_same_with_another_number_of_threads(trained):
    """Where they are not tied; and in every run, to the bit with as many threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if threads > 1 else 2)
    try:
        again = measure(REQUEST, device="cpu")
    finally:
        torch.set_num_threads(threads)
    ties = tied(trained)
    alone = ~(ties | np.roll(ties, 1, axis=1))
    for side in ("u", "v"):
        one, other = (getattr(x, side).astype(np.float64) for x in (trained, again))
        assert ((one * other).sum(1)[alone] > 0.98).all()
