"""What ships gives the numbers that were written down: `make golden` looks at all of it."""

from collections.abc import Iterator

import golden
import numpy as np
import pytest

pytestmark = pytest.mark.full


def known(subject: str) -> list[str]:
    """What is looked at here of a subject: the first result of every model, or all commands."""
    if subject == "commands":
        return [*golden.read(subject)]
    return sorted(golden.in_full(golden.shipped(subject)))


@pytest.mark.parametrize("subject", golden.subjects())
def test_no_number_has_moved(subject: str) -> None:
    assert golden.compare(subject, known(subject)) == []


def arrays(subject: str) -> Iterator[tuple[str, np.ndarray]]:
    """All that is read of the first result of a subject."""
    if subject == "commands":
        for words in golden.COMMANDS:
            yield from golden.numbers(golden.answer(words), " ".join(words))
    else:
        key = known(subject)[0]
        yield from golden.all_numbers(golden.shipped(subject)[key], is_whole=True)


@pytest.mark.parametrize("subject", golden.subjects())
def test_a_change_of_one_number_is_found_wherever_it_is(subject: str) -> None:
    """Of a ten thousandth of what is usual in its array."""
    rng, lost = np.random.default_rng(0), []
    for name, array in arrays(subject):
        before = array.astype(float).ravel()
        now, finite = before.copy(), np.flatnonzero(np.isfinite(before))
        if finite.size:
            at = rng.choice(finite)
            now[at] += 1e-4 * max(1, np.sqrt(np.mean(now[finite] ** 2)))
            if not golden.Numbers.of(before).moved(golden.Numbers.of(now)):
                lost.append((name, before.size, before[at]))
    assert lost == []


def test_what_is_gone_or_new_or_exchanged_is_found() -> None:
    before = {"a": golden.Numbers.of(np.arange(100.0)), "key": "k1"}
    swapped = golden.Numbers.of(np.array([1.0, 0.0, *range(2, 100)]))
    nothing = golden.Numbers.of(np.array([np.nan, *range(1, 100)]))
    assert golden.moved(before, dict(before)) == []
    assert golden.moved(before, {"a": before["a"]}) == ["key: is gone"]
    assert golden.moved(before, before | {"key": "k2"}) == ["key: k1, now k2"]
    assert len(golden.moved(before, before | {"a": swapped})) == 1
    assert len(golden.moved(before, before | {"a": nothing, "b": swapped})) == 2
