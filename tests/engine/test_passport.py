"""A passport tells whether two forward passes agree to the last bit, and else how far apart."""

import json

import numpy as np
import pytest

from coupling_core import InputError
from coupling_core.engine.passport import Passport, change, is_same, passport_of, plain, sketch


def issued(states: np.ndarray) -> Passport:
    return Passport(sketch(states), None, "sdpa", "", "AVX2", "MKL")


def test_a_passport_sees_the_last_bit_and_estimates_larger_changes() -> None:
    x = np.random.default_rng(0).standard_normal((4, 300)).astype(np.float32)
    y = x.copy()
    y[2, 7] = np.nextafter(y[2, 7], np.float32(9))
    assert is_same(issued(x), issued(x.copy()))
    assert not is_same(issued(x), issued(y))
    assert 0 < change(issued(x), issued(y)) < 1e-7
    assert change(issued(x), issued(1.5 * x)) == pytest.approx(0.5, rel=0.5)


def test_a_passport_comes_back_from_a_header_and_a_damaged_one_is_refused() -> None:
    stored = plain(issued(np.ones((1, 64), np.float32)))
    assert passport_of({"passport": json.loads(json.dumps(stored))}) == passport_of(
        {"passport": stored}
    )
    assert passport_of({"versions": {}}) is None
    with pytest.raises(InputError):
        passport_of({"passport": {"attention": "sdpa"}})
