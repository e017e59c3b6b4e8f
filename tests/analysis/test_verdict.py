"""What is said of a model beside its untrained twin has the numbers of the scores."""

from dataclasses import replace

import numpy as np
import pytest
from cases import random_result

from coupling_core.analysis.scores import mean_off_diagonal, score_pairs
from coupling_core.analysis.verdict import verdict
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES, requests
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

VIEW = View(50)


@pytest.fixture(scope="module")
def shipped():
    """The trained model and its twin for every example."""
    return [Store().find(request, resolve(request).identity) for request in requests()]


def mean(result, blocks):
    return mean_off_diagonal(score_pairs(result, replace(VIEW, blocks=blocks)).corrected)


def test_it_is_of_the_blocks_of_figure_3_and_has_their_means(shipped):
    middle = tuple(range(9, 17))
    found = verdict(shipped[0], shipped[1], VIEW, shipped[::2])
    assert found.blocks == middle
    assert found.trained == pytest.approx(mean(shipped[0], middle))
    assert found.untrained == pytest.approx(mean(shipped[1], middle))
    assert found.prompts == pytest.approx([mean(one, middle) for one in shipped[::2]])
    assert len(found.prompts) == len(EXAMPLES)
    told = str(found)
    assert told.startswith(f"Blocks 9-16 are coupled: {found.trained:.3f}; untrained 0.000;")
    assert found.reason.startswith("56 of these 56 pairs score above")
    low, high = min(found.prompts), max(found.prompts)
    assert told.endswith(f"chance 0; 3 example prompts say {low:.3f} to {high:.3f}.")


def test_pairs_above_the_twin_are_counted(shipped):
    blocks = tuple(range(1, 31))
    found = verdict(shipped[0], shipped[1], replace(VIEW, blocks=blocks))
    own, twin = (
        score_pairs(one, replace(VIEW, blocks=blocks)).corrected[~np.eye(30, dtype=bool)]
        for one in shipped[:2]
    )
    assert (found.above, found.pairs) == ((own > twin.max()).sum(), 870)
    assert 0 < found.above < found.pairs


def test_a_model_like_its_twin_is_not_coupled(shipped):
    assert "are not coupled: 0.000" in str(verdict(shipped[1], shipped[1], VIEW))


def test_without_a_twin_it_gives_the_number_alone(shipped):
    found = verdict(shipped[0], None, VIEW)
    assert str(found) == f"Blocks 9-16: {found.trained:.3f}; chance 0."
    assert found.reason == ""


def test_a_shallow_model_is_taken_whole_and_one_block_has_no_pair():
    result = random_result()
    assert verdict(result, None, View(2)).blocks == tuple(range(1, result.n_blocks + 1))
    assert verdict(result, None, View(2, blocks=(1,))) is None
