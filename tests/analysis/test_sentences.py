"""Sentences that are formed from numbers, in worlds whose truth is planted.

`python -m benchmarks.sentences` draws all of them 1,000 times.
"""

import pytest
from scipy import stats

from benchmarks.sentences import CASES, PAGE

DRAWS = {"interval": 30, "“It stays": 20, "“differences": 20}
"""Of the sentences that begin so, which take long; of all others 100."""


def draws_of(case):
    return next((n for begins, n in DRAWS.items() if case.sentence.startswith(begins)), 100)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.sentence}-{case.world}")
def test_a_sentence_is_true_as_often_as_it_states_and_is_said_where_it_is_true(case):
    draws = draws_of(case)
    said, false = case.count(draws)
    # The draws are the same at every run; more than this come in one of a thousand.
    assert false <= stats.binom.ppf(0.999, draws, case.allowed)
    assert said >= stats.binom.ppf(0.001, draws, case.spoken)


def test_the_committed_page_counts_each_and_none_is_false_too_often():
    page = PAGE.read_text()
    assert "**None of" in page
    assert [row.split(" | ")[:2] for row in page.splitlines() if row.endswith("% |")] == [
        [f"| {case.sentence}", case.world] for case in CASES
    ]
