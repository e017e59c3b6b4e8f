"""The sketch tells how far two arrays are apart, and the digest whether they are at all."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from coupling_core import InputError
from coupling_core.engine import passport
from coupling_core.engine.passport import Passport, change, is_same, passport_of, plain, sketch

DRAWS = 200
SUMS_OF_1_TO_100 = (-17.0, -2.0, -191.0, 206.0, 220.0, 73.0)
"""The first of them; results that are stored rest on these groups and signs."""
DIGEST_OF_1_TO_100 = "a549daf0c695c07b"


def array(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def issued(states: np.ndarray, logits: np.ndarray | None = None) -> Passport:
    of_logits = None if logits is None else sketch(logits)
    return Passport(sketch(states), of_logits, "sdpa", "", "AVX2", "MKL")


def estimate(array: np.ndarray) -> float:
    """By how much the estimate of an array's own norm is off."""
    found = sketch(array)
    return float(np.linalg.norm(found.sums)) / found.norm


def damaged(**changes: object) -> dict[str, object]:
    made = asdict(issued(array(0, 3, 8)))
    return {"passport": made | {"states": made["states"] | changes}}


@pytest.mark.parametrize("apart", [1e-5, 1e-2, 1.0])
@pytest.mark.parametrize("spread", ["even", "one entry"])
def test_an_estimate_is_that_of_the_difference(apart: float, spread: str) -> None:
    ratios = []
    for seed in range(DRAWS):
        x = array(seed, 4, 300)
        step = array(seed + DRAWS, 4, 300).astype(np.float64)
        if spread == "one entry":
            step[np.arange(step.size).reshape(step.shape) != seed] = 0
        y = (x + apart * np.linalg.norm(x) * step / np.linalg.norm(step)).astype(np.float32)
        true = np.linalg.norm(y.astype(np.float64) - x) / np.linalg.norm(x.astype(np.float64))
        ratios.append(change(issued(x), issued(y)) / true)
    assert np.mean(np.square(ratios)) == pytest.approx(1, abs=0.06)  # its expectation is 1
    assert np.std(ratios) < 0.15  # an eighth
    assert 0.4 < min(ratios) <= max(ratios) < 1.7


def test_the_last_bit_is_seen() -> None:
    x = array(0, 5, 64)
    y = x.copy()
    y[2, 7] = np.nextafter(y[2, 7], np.float32(9))
    assert is_same(issued(x), issued(x.copy()))
    assert not is_same(issued(x), issued(y))
    assert 0 < change(issued(x), issued(y)) < 1e-7
    assert not is_same(issued(x), issued(x.reshape(64, 5)))


def test_a_change_is_the_larger_one_of_states_and_logits() -> None:
    x, logits = array(0, 1, 64), array(1, 500)
    before = issued(x, logits)
    of_states, of_logits = estimate(x), estimate(logits)
    assert change(before, issued(x, logits)) == 0
    assert change(before, issued(x, 1.5 * logits)) == pytest.approx(0.5 * of_logits)
    assert change(before, issued(3 * x, 1.5 * logits)) == pytest.approx(2 * of_states)
    assert not is_same(before, issued(x, 1.5 * logits))
    assert not is_same(before, issued(x))


def test_what_came_of_nothing_has_changed_without_bound() -> None:
    assert change(issued(np.zeros((1, 8), np.float32)), issued(array(0, 1, 8))) == float("inf")


def test_entries_that_are_not_finite_can_be_stored() -> None:
    x = array(0, 500)
    x[[3, 5, 7]] = np.nan, np.inf, -np.inf
    found = sketch(x)
    assert json.loads(json.dumps(asdict(found), allow_nan=False))
    assert found.digest != sketch(np.nan_to_num(x, posinf=0, neginf=0)).digest


def test_a_sketch_is_the_same_in_pieces_and_in_every_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.arange(1, 101, dtype=np.float32)
    whole = sketch(x)
    monkeypatch.setattr(passport, "_AT_ONCE", 7)
    assert sketch(x) == whole
    assert whole.sums[:6] == SUMS_OF_1_TO_100
    assert whole.digest.startswith(DIGEST_OF_1_TO_100)


def test_a_passport_comes_back_from_a_header() -> None:
    made = issued(array(0, 1, 64), array(1, 500))
    stored = plain(made)
    assert json.loads(json.dumps(stored)) == stored
    assert passport_of({"passport": stored}) == made
    assert passport_of({"versions": {}}) is None


@pytest.mark.parametrize(
    "provenance",
    [
        {"passport": 7},
        {"passport": {"attention": "sdpa"}},
        damaged(norm="much"),
        damaged(norm=float("nan")),
        damaged(sums=[1.0, 2.0]),
        damaged(sums=[float("inf")] * 32),
    ],
    ids=["number", "lacks fields", "a word", "no number", "few sums", "infinite sums"],
)
def test_a_damaged_passport_is_told(provenance: dict[str, object]) -> None:
    with pytest.raises(InputError, match="its passport is damaged"):
        passport_of(provenance)


def test_other_implementations_make_another_passport_but_no_change() -> None:
    before = issued(array(0, 1, 64))
    assert change(before, replace(before, attention="eager")) == 0
