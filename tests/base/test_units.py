"""Numbers as people read them."""

from coupling_core.base.units import (
    counted,
    decimals,
    percent,
    rounded,
    with_difference,
)


def test_a_zero_has_no_sign():
    rounds = {-0.0004: "0.000", -0.0: "0.000", -0.0006: "-0.001", 0.0625: "0.062"}
    assert {value: rounded(value) for value in rounds} == rounds


def test_a_share_that_is_not_0_is_not_read_as_0_and_one_is_no_plural():
    shares = {(0.33, 0): "33", (0.0, 1): "0.0", (2e-5, 0): "0.002", (1e-9, 1): "under 0.0001"}
    assert {of: percent(*of) for of in shares} == {of: f"{n}\u00a0%" for of, n in shares.items()}
    counts = {(1, "prompt"): "1 prompt", (0, "pair"): "0 pairs", (3, "family"): "3 families"}
    assert {of: counted(*of) for of in counts} == counts


def test_a_difference_is_that_of_the_numbers_beside_it():
    told = {
        (0.25, 0.125): ("0.250", "0.125", "0.125"),
        (-0.00032, 0.00116): ("-0.0003", "0.0012", "-0.0015"),
        (0.164, 0.159): ("0.1640", "0.1590", "0.0050"),
        (0.2, 0.2): ("0.200", "0.200", "0.000"),
        (0.0504, -0.0004): ("0.0504", "-0.0004", "0.0508"),
        (-0.0003, -0.0002): ("-0.00030", "-0.00020", "-0.00010"),
        (0.06, float("nan")): ("0.060", "nan", "nan"),
    }
    assert {(a, b): with_difference(a, b, a - b) for a, b in told} == told


def test_decimals_tell_numbers_apart():
    found = {
        (): 3,
        (0.5,): 3,
        (0.1, 0.9): 3,
        (0.9991, 0.9996): 6,
        (1.0, 1.0 + 1e-12): 8,
        (float("nan"), 0.2, 0.2): 3,
    }
    assert {values: decimals(list(values), 3) for values in found} == found
