"""Figures of the tour: two bases in the plane, reactions, and scores of random bases."""

import numpy as np
import pytest
from checks import trace

from coupling_core import Request
from coupling_core.analysis.random_bases import random_matrices, random_scores
from coupling_core.analysis.scores import chance_floor, score_pairs
from coupling_core.base.errors import InputError
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.figures.depth_curves import random_bases, reaction
from coupling_core.figures.two_bases import OWN, VALUES, in_basis, in_other_basis, two_bases
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

DRAWS = 40


@pytest.fixture(scope="module")
def result():
    request = Request(EXAMPLES[0])
    return Store().find(request, resolve(request).identity)


def test_random_bases_score_the_chance_floor(result):
    for block, k in ((1, 1), (12, 10), (30, 50)):
        found = random_scores(result, block, View(k=k), DRAWS)
        floor = chance_floor(result, "paper")[block - 1, k - 1]
        # The floor is of the mean square; with one direction a draw is far from it now and then.
        assert found.mean() == pytest.approx(floor, abs=4 * found.std() / DRAWS**0.5 + 2e-3)
        assert found.std() > 0
        np.testing.assert_array_equal(random_scores(result, block, View(k=k), 5), found[:5])
    assert len(random_scores(result, 12, View(k=10), 0)) == 0


def test_random_matrices_have_the_size_that_the_norm_of_the_jacobian_says(result):
    found = random_matrices(result, 12, 50, 5)
    expected = (50 / result.width) ** 2 * result.jacobian_norm[11] ** 2
    assert (found**2).sum((1, 2)).mean() == pytest.approx(expected, rel=0.05)


def test_the_figure_has_pair_floor_and_draws(result):
    figure, found = random_bases(result, (12, 11), View(), 5), score_pairs(result, View())
    assert trace(figure, "basis of block 11").x[0] == pytest.approx(found.coupling[11, 10])
    assert len(trace(figure, "random bases").x) == 5
    assert figure.layout.shapes[0].x0 == pytest.approx(found.chance[11, 10])


def test_reactions_are_in_units_of_that_to_a_random_direction(result):
    usual = result.jacobian_norm[11] / result.width**0.5
    found = trace(reaction(result, 12), "block 12").y
    np.testing.assert_allclose(found, result.singular_values[11] / usual, rtol=1e-6)
    for refused in (
        lambda: reaction(result, 31),
        lambda: random_scores(result, 12, View(k=51), 1),
    ):
        with pytest.raises(InputError, match=r"31|51"):
            refused()


def test_in_its_own_directions_alone_the_map_is_diagonal():
    for degrees in (OWN, OWN - 90):
        A = in_basis(degrees)
        assert abs(A[0, 1]) < 1e-12
        assert sorted(np.diag(A)) == pytest.approx(sorted(VALUES))
    assert in_basis(OWN + 45)[0, 1] == pytest.approx(-(VALUES[0] - VALUES[1]) / 2)
    assert np.abs(trace(in_other_basis(75), "matrix").z).min() > 0.2
    below, _, over, _ = two_bases(OWN).data  # both are seen where they align
    assert below.line.width > over.line.width
