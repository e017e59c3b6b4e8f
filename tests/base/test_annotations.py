"""The package's annotations are checked while it is tested, axes among arguments included."""

import numpy as np
import pytest
from annotations import check, checked
from jaxtyping import Float64

from coupling_core.analysis.trajectory import step_lengths
from coupling_core.base.units import size


def scaled(matrix: Float64[np.ndarray, "d k"], by: Float64[np.ndarray, "k"]) -> "Later":
    return matrix * by


def test_types_and_axes_are_checked():
    function = checked(scaled, check)
    assert function(np.ones((3, 2)), np.ones(2)).shape == (3, 2)
    with pytest.raises(Exception, match="by"):
        function(np.ones((3, 2)), np.ones(3))
    for of_the_package in (step_lengths, size):
        with pytest.raises(Exception, match="violates type hint"):
            of_the_package("no number")
