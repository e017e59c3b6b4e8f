"""Sentences that are formed from numbers, in worlds whose truth is planted.

`python -m benchmarks.sentences` draws all of them 1,000 times.
"""

import pytest
from scipy import stats

from benchmarks.sentences import CASES, PAGE

SENTENCES = list(dict.fromkeys(case.sentence for case in CASES))
DRAWS = {"interval": 30, "“It stays": 20, "“differences": 20}
"""Of the sentences that begin so, which take long; of all others 100."""


def false_too_often_or_said_too_rarely(cases, share=1.0):
    """The cases whose counts come less than once in a thousand times, if the sentence holds."""
    found = []
    for case in cases:
        begins = (n for start, n in DRAWS.items() if case.sentence.startswith(start))
        draws = round(share * next(begins, 100))
        said, false = case.count(draws)  # the draws are the same at every run
        most = stats.binom.ppf(0.999, draws, case.allowed)
        least = stats.binom.ppf(0.001, draws, case.spoken)
        if false > most or said < least:
            found.append((case.sentence, case.world, said, false))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_true_as_often_as_it_states_and_is_said_where_it_is_true(sentence):
    cases = [case for case in CASES if case.sentence == sentence]
    assert false_too_often_or_said_too_rarely(cases) == []


@pytest.mark.full
def test_a_sentence_holds_in_one_world_where_it_is_false_and_one_where_it_is_true():
    for sentence in SENTENCES:
        cases = [case for case in CASES if case.sentence == sentence]
        first, *others = sorted(cases, key=lambda case: case.spoken)
        assert false_too_often_or_said_too_rarely([first, *others[-1:]], share=0.5) == []


def test_the_committed_page_counts_each_and_none_is_false_too_often():
    page = PAGE.read_text()
    assert "**None of" in page
    assert [row.split(" | ")[:2] for row in page.splitlines() if row.endswith("% |")] == [
        [f"| {case.sentence}", case.world] for case in CASES
    ]
