"""Means over many prompts: what is averaged, and what is said of few."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_result

from coupling_core.analysis import over_prompts as op
from coupling_core.analysis.scores import corrected, mean_interval, score_pairs
from coupling_core.base.records import View

VIEW = View(4)
RESULTS = [random_result(seed=seed) for seed in range(5)]
PARTS = [op.of_prompt(result, VIEW) for result in RESULTS]
OFF = ~np.eye(5, dtype=bool)
STOP, WORD = (replace(PARTS[0], text=text) for text in (".", "mat"))


def test_the_mean_of_a_pair_is_that_of_its_corrected_scores() -> None:
    scores = [part.scores for part in PARTS]
    found = op.mean_scores(scores)
    every = np.stack([score_pairs(result, VIEW).corrected for result in RESULTS])
    np.testing.assert_allclose(found.corrected, every.mean(0))
    assert found.blocks == (1, 2, 3, 4, 5)
    of_means = corrected(found.coupling, found.chance)
    assert np.abs(of_means - found.corrected)[OFF].max() > 1e-6  # which is another thing
    broken = scores[0].corrected.copy()
    broken[1, 2] = np.nan
    found = op.mean_scores([replace(scores[0], corrected=broken), *scores[1:]])
    assert np.argwhere(np.isnan(found.corrected)).tolist() == [[1, 2]]


def test_it_is_told_at_which_token_and_whether_all_end_alike(snapshot) -> None:
    lists = {
        "all end alike": [STOP] * 4,
        "most end alike": [STOP] * 3 + [WORD],
        "half end alike": [STOP] * 2 + [WORD] * 2,
        "two end alike": [STOP] * 2,
        "asked for the third": [replace(STOP, asked=3)],
        "asked for the last but one": [replace(STOP, asked=-2)] * 2,
        "no place in common": [replace(STOP, asked=3), WORD],
    }
    assert {name: op.token_words(of) for name, of in lists.items()} == snapshot
    assert PARTS[0].text.strip("·␣ ") in RESULTS[0].tokens[RESULTS[0].token - 1]


def test_a_prompt_counts_by_the_mean_over_its_pairs_and_its_result_is_let_go() -> None:
    part = PARTS[0]
    assert part.mean(corrected=True) == pytest.approx(part.scores.corrected[OFF].mean())
    assert part.mean(corrected=False) == pytest.approx(part.scores.coupling[OFF].mean())
    assert part.scores.result is None


def test_a_mean_is_told_with_its_interval_and_few_prompts_are_no_evidence() -> None:
    assert [f" {n}" in op.few_words(n) for n in (1, 39)] == [True, True]
    assert op.few_words(40) == ""
    over = mean_interval(np.array([0.05, 0.06, 0.07]))
    assert op.interval_words(over) == "0.060 (95\u00a0% interval 0.035 to 0.085)"
    told = op.spread_words({3: 0.2, 7: 0.1, 9: float("nan")})
    assert "prompt 7 with 0.100" in told
    assert "prompt 3 with 0.200" in told
    assert op.spread_words({3: 0.2}) == ""
    assert "5 of 5 prompts" in op.origin(PARTS, "a list", VIEW)["source"]
