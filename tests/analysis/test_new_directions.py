"""What is new of a model's directions lies outside the leading 2 K of the other's, and not K."""

from dataclasses import replace

import numpy as np
import pytest
from cases import directions_result

from coupling_core import cross

K = 3


def test_directions_that_the_other_has_further_down_are_turned_and_not_new():
    a = directions_result(k=2 * K)
    b = replace(a, u=np.roll(a.u, K, axis=-1), v=np.roll(a.v, K, axis=-1))
    found = cross(a, b, K)
    assert found.angles == pytest.approx(90, abs=0.5)  # degrees, of float16
    np.testing.assert_allclose(found.inside, 1, atol=1e-2)
    assert not found.new.any()
