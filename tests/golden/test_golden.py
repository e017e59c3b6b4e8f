"""What ships gives the numbers that were written down: `make golden` looks at all of it."""

import re

import golden
import numpy as np
import pytest


@pytest.mark.full
@pytest.mark.parametrize("subject", golden.subjects())
def test_no_number_has_moved(subject: str) -> None:
    """Of the first result of every size of model, or of all commands."""
    entries = golden.shipped(subject)
    asked = {key: entries[key].request for key in sorted(golden.in_full(entries))}
    sizes = {
        (re.split("-sd|-seed|-rate", of.model)[0], of.untrained): key for key, of in asked.items()
    }
    assert golden.compare(subject, sorted(sizes.values() or golden.read(subject))) == []


def test_a_change_of_one_number_is_found_wherever_it_is() -> None:
    """Of a ten thousandth of what is usual in its array."""
    rng = np.random.default_rng(0)
    for size in (1, golden.PARTS, 1000, 50_000):
        before = rng.standard_normal(size)
        before[7::13] = np.nan
        known = golden.Numbers.of(before)
        for at in rng.choice(np.flatnonzero(np.isfinite(before)), 20):
            now = before.copy()
            now[at] += 1e-4
            assert known.moved(golden.Numbers.of(now)), (size, at)
