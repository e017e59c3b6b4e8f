"""Whichever Jacobians are compared when, each meets every basis once, as the definition has it."""

import numpy as np
import pytest
import torch
from cases import planted_jacobians

from coupling_core.engine import reference
from coupling_core.engine.pairs.square import Square, svd_or_nothing

COUNT, WIDTH, K = 7, 12, 3


class Noted(Square):
    """Keeps A of every pair, and how often it came."""

    def __init__(self, fails: int = 0) -> None:
        super().__init__((COUNT,), COUNT, WIDTH, K, torch.device("cpu"), at_once=COUNT)
        self.A = np.full((COUNT, COUNT, K, K), np.nan)
        self.times = np.zeros((COUNT, COUNT), int)
        self.fails = fails

    def reduce(self, at, products):
        if self.fails and products.shape[1] > 1:
            self.fails -= 1
            raise MemoryError
        return products[0].numpy()

    def keep(self, at, columns, found):
        self.A[at, columns] = found
        self.times[at, columns] += 1


def filled(square: Noted, rng: np.random.Generator) -> np.ndarray:
    """Jacobians, which the square takes and compares as chance has it."""
    jacobians = planted_jacobians(COUNT, WIDTH, 0.5)
    for at, J in enumerate(torch.tensor(jacobians, dtype=torch.float32)):
        svd = svd_or_nothing(J, K)
        square.take((at,), J, svd, svd)
        square.compare([row for row in range(at + 1) if rng.random() < 0.5])
    square.compare(range(COUNT))
    return jacobians


@pytest.mark.parametrize(("seed", "fails"), [(0, 0), (1, 0), (2, 1)])
def test_every_pair_comes_once_and_is_that_of_the_definition(seed, fails):
    square = Noted(fails)
    jacobians = filled(square, np.random.default_rng(seed))
    assert (square.times == 1).all()
    assert not square.fails
    for row, column in np.ndindex(COUNT, COUNT):
        v, u = square.bases[:, column].mT.double().numpy()
        A = reference.coupling_matrix(jacobians[row], u, v)
        assert square.A[row, column] == pytest.approx(A, abs=1e-5)


def test_a_jacobian_that_is_zero_has_a_place_and_no_rank():
    square, J = Noted(), torch.zeros(WIDTH, WIDTH)
    nothing = svd_or_nothing(J, K)
    square.take((4,), J, nothing, nothing)
    assert (square.rank[:, 4] == 0).all()
    assert square.jacobian_norm[4] == 0
    assert np.isnan(square.chance[:, 4]).all()
    assert np.isnan(np.delete(square.jacobian_norm, 4)).all()
    assert square.certificates[0, 4].certified
    assert square.certificates[0, 3] is None
