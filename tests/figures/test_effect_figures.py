"""Figures of edits beside coupling: their points are the numbers of the study, or of the result."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_result, what_if_result
from checks import trace

from coupling_core import EffectView, View, figures
from coupling_core.analysis.coupling_effect import coupling_effect
from coupling_core.analysis.effect_study import EffectStudy

L = 6


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    square = rng.uniform(0.1, 1, (2, 7, L, L))
    return EffectStudy(("p",) * 7, 8, coupling=square[0], interchange=square[1], replace=square[1])


def test_a_pair_of_blocks_is_a_point(study):
    found = study.correlated("interchange")
    (points,) = figures.coupling_against_effect(found, "model").data
    assert len(points.x) == L * (L - 1) // 2
    at = [tuple(row[:2]) for row in points.customdata.tolist()].index((2, 5))
    both, effect = study.coupling.mean(0), -np.log(study.interchange).mean(0)
    assert points.x[at] == pytest.approx((both[1, 4] + both[4, 1]) / 2)
    assert points.y[at] == pytest.approx((effect[1, 4] + effect[4, 1]) / 2)
    assert points.marker.color[at] == 3
    table = found.to_pandas()
    assert table.set_index(["block", "other_block"]).coupling[2, 5] == pytest.approx(points.x[at])


def test_correlations_by_step_have_their_interval(study):
    figure = figures.effect_by_step({0: study, 512: study}, "replace", "mini")
    expected = coupling_effect(study.coupling, study.replace)
    assert trace(figure, "rho").y[1] == pytest.approx(expected.raw.rho)
    assert trace(figure, "distance alone").y[1] == pytest.approx(expected.distance.rho)
    given = trace(figure, "given distance")
    assert given.y[1] - given.error_y.arrayminus[1] == pytest.approx(expected.partial.low)
    assert given.y[1] + given.error_y.array[1] == pytest.approx(expected.partial.high)
    assert list(figures.effect_by_step_table({0: study, 512: study}, "replace").step) == [0, 512]


def test_neighbours_that_cannot_be_exchanged_have_no_point():
    result = what_if_result()
    true = result.exchange_true.copy()
    true[1] = np.nan
    exact, points = figures.exchange(replace(result, exchange_true=true)).data
    assert [row[:2] for row in points.customdata.tolist()] == [[1, 2], [3, 4], [4, 5]]
    assert points.x[0] == pytest.approx(np.median(result.exchange_predicted[0]))
    assert points.y[0] == pytest.approx(np.median(result.exchange_true[0]))
    assert tuple(exact.x) == tuple(exact.y)
    assert len(figures.exchange_table(result)) == 4


def test_the_map_is_as_large_as_that_of_the_scores_and_marks_diagonal_and_selection():
    figure = figures.effects(what_if_result(), EffectView(), "replace", selected=(2, 4))
    (square,) = figure.layout.shapes
    assert (square.x0, square.y0) == (2.5, 0.5)
    (grey,) = [t for t in figure.data if t.showlegend]
    np.testing.assert_array_equal(np.isfinite(grey.z), np.eye(5, dtype=bool))
    assert figure.layout.margin == figures.scores(random_result(), View(4)).layout.margin
