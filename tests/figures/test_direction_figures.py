"""Figures of directions: the lines are the numbers, and chance stands beside them."""

from dataclasses import replace

import numpy as np
import pytest
from cases import directions_result
from checks import trace

from coupling_core import DirectionsView, figures
from coupling_core.analysis.directions import counts, held, track, track_chance

RESULT = directions_result()


def test_the_track_passes_through_the_singular_value_and_beside_its_chance():
    figure = figures.direction_track(RESULT, 2, 3)
    np.testing.assert_allclose(trace(figure, "direction 3").y, track(RESULT, 2, 3))
    itself = trace(figure, "block 2 itself")
    assert (itself.x[0], itself.y[0]) == (2, track(RESULT, 2, 3)[1])
    reach = np.abs(np.asarray(trace(figure, "by chance").y, np.float64)).max()
    assert reach == pytest.approx(track_chance(RESULT).max())


def test_what_is_held_is_one_in_the_block_itself_and_is_drawn_of_both_sides():
    figure = figures.direction_elsewhere(RESULT, 2, 1)
    table = figures.direction_table(RESULT, 2, 1)
    np.testing.assert_allclose(table["gain"], track(RESULT, 2, 1))
    for side, name in (("u", "written"), ("v", "read")):
        found = held(RESULT, RESULT.basis(2, side)[:, 0], side)
        assert found[1] == pytest.approx(1)
        for shown in (trace(figure, name).y, table[f"{name}_held"]):
            np.testing.assert_allclose(shown, found)
    assert trace(figure, "a random direction").y[0] == np.sqrt(RESULT.count / RESULT.width)


def test_readouts_stand_beside_those_of_the_twin_and_of_chance():
    twin = replace(RESULT, peakedness=RESULT.peakedness * 0)
    figure = figures.readouts(RESULT, DirectionsView(), twin=twin)
    np.testing.assert_array_equal(trace(figure, "what it writes").y, counts(RESULT)[0])
    assert not np.any(trace(figure, "what it writes, untrained").y)
    np.testing.assert_allclose(trace(figure, "by chance, on average").y, RESULT.count / 100)
