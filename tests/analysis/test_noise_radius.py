"""The radius in which first order holds, from planted errors; and what rounding hides."""

from dataclasses import replace

import numpy as np
import pytest
from cases import perturbation_result

from coupling_core import perturbation_radius
from coupling_core.analysis.perturbation import blurred, nearest_size, spread

RESULT = perturbation_result()


def with_error(of_sizes, **changes):
    """The same error for every draw and state behind a block, by size."""
    error = np.broadcast_to(np.array(of_sizes)[None, :, None, None], RESULT.error.shape)
    return replace(RESULT, error=error.astype(np.float32), **changes)


def test_the_radius_is_where_the_error_passes_a_tenth():
    """Between sizes it follows the power law that the two nearest of them lie on."""
    for of_sizes, expected in (
        ([0.01, 0.1, 1.0], 0.1),
        ([0.003, 0.03, 0.3], 1 / 3),
        ([0.001, 0.002, 0.003], np.inf),  # beyond the sizes measured
        ([0.2, 0.5, 1.0], 0),
    ):
        found = perturbation_radius(with_error(of_sizes))[:, 1:]
        np.testing.assert_allclose(found, np.full_like(found, expected), rtol=1e-4)
    assert (perturbation_radius(RESULT)[:, 0] == np.inf).all()  # the noise itself
    found = perturbation_radius(with_error([0.01, 0.2, 0.05]))[0, 1]
    assert 0.01 < found < 0.1  # a size at which the error dips again is no radius


def test_half_of_the_draws_decide():
    error = RESULT.error * 0 + 0.01
    error[:, 2, :4] = 0.5  # four of six, at the largest size
    assert np.isfinite(perturbation_radius(replace(RESULT, error=error))[0, 1])
    error[:, 2, 1:4] = 0.01
    error[:, 2, 0] = 5.0  # one of six, however far off it is
    assert perturbation_radius(replace(RESULT, error=error))[0, 1] == np.inf


def test_what_rounding_hides_is_no_radius():
    rough = RESULT.rounding + 0.015
    found = with_error([0.5, 0.01, 0.2], rounding=rough)
    assert blurred(found)[0, :, 0, 1].tolist() == [True, True, False]
    assert np.isnan(perturbation_radius(found)[0, 1])  # one size is left, and lies past it
    fine = with_error([0.5, 0.01, 0.2], rounding=RESULT.rounding + 1e-3)
    assert blurred(fine)[0, :, 0, 1].tolist() == [True, False, False]
    assert 0.1 < perturbation_radius(fine)[0, 1] < 1
    assert np.isnan(perturbation_radius(with_error([1, 1, 1], rounding=rough + 9))[0, 1:]).all()


def test_the_spread_holds_most_of_the_draws_and_the_nearest_size_is_nearest_in_ratio():
    found = spread(np.arange(1001.0)[None, :, None].repeat(2, 0))
    numbers = (*found.median[:, 0], found.low[0, 0], found.high[0, 0])
    assert numbers == pytest.approx((500, 500, 25, 975))
    assert [nearest_size(RESULT, size) for size in (1e-9, 0.04, 0.02, 99)] == [0, 1, 0, 2]
