"""Annotations of the package are checked while it is tested: types, and axes among arguments."""

import numpy as np
import pytest
from annotations import check, checked
from jaxtyping import Float64


def scaled(matrix: Float64[np.ndarray, "d k"], by: Float64[np.ndarray, "k"]) -> "Later":
    return matrix * by


def columns(matrix: Float64[np.ndarray, "d k"]) -> Float64[np.ndarray, "k d"]:
    return matrix


def longer(text: str, times: float = 1) -> int:
    return text * times


def test_axes_agree_among_arguments():
    function = checked(scaled, check)
    assert function(np.ones((3, 2)), np.ones(2)).shape == (3, 2)
    with pytest.raises(Exception, match="by"):
        function(np.ones((3, 2)), np.ones(3))


def test_axes_agree_with_what_is_returned():
    function = checked(columns, check)
    assert function(np.ones((2, 2))).shape == (2, 2)
    with pytest.raises(Exception, match="return"):
        function(np.ones((3, 2)))


@pytest.mark.parametrize("arguments", [(1,), ("a", "b"), ("a", 2)])
def test_types_are_checked_without_axes(arguments):
    with pytest.raises(Exception, match="longer"):
        checked(longer, check)(*arguments)


def test_the_package_is_checked():
    from coupling_core.analysis.trajectory import step_lengths
    from coupling_core.base.units import size

    for function in (step_lengths, size):
        with pytest.raises(Exception, match="violates type hint"):
            function("no number")
