"""The verdict on a model and its untrained model has the numbers of the scores."""

from dataclasses import replace

import numpy as np
import pytest
from cases import VIEW as PLANTED
from cases import planted, random_result

from coupling_core.analysis.over_prompts import of_prompt
from coupling_core.analysis.scores import known_interval, mean_off_diagonal, score_pairs
from coupling_core.analysis.verdict import verdict, verdict_over
from coupling_core.base.records import View
from coupling_core.experiments.gallery import EXAMPLES, requests
from coupling_core.kinds.depth import views as depth_views
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

VIEW = View(50)
MIDDLE = replace(VIEW, blocks=tuple(range(9, 17)))
"""The blocks of figure 3."""


@pytest.fixture(scope="module")
def shipped():
    """The trained model and its twin for every example."""
    return [Store().find(request, resolve(request).identity) for request in requests()]


@pytest.fixture(scope="module")
def own(shipped):
    return [of_prompt(one, MIDDLE) for one in shipped[::2]]


@pytest.fixture(scope="module")
def twins(shipped):
    return [of_prompt(one, MIDDLE) for one in shipped[1::2]]


def mean(result):
    return mean_off_diagonal(score_pairs(result, MIDDLE).corrected)


def test_it_is_of_the_blocks_of_figure_3_and_has_their_means(shipped):
    found = verdict(shipped[0], shipped[1], VIEW, shipped[::2])
    assert found.blocks == MIDDLE.blocks
    assert found.trained == score_pairs(shipped[0], MIDDLE).mean()
    assert found.untrained == score_pairs(shipped[1], MIDDLE).mean()
    assert [one.corrected for one in found.prompts] == [mean(one) for one in shipped[::2]]
    assert len(found.prompts) == len(EXAMPLES)
    assert (found.above, found.pairs) == (56, 56)
    assert verdict(shipped[1], shipped[1], VIEW).above == 0
    for one in (found.trained, found.untrained, *found.prompts):
        assert f"{one.corrected:.3f}" in str(found)


def test_what_verdicts_say(shipped, own, twins, snapshot):
    said = {
        "one prompt": verdict(shipped[0], shipped[1], VIEW, shipped[::2]),
        "raw": verdict(shipped[0], shipped[1], VIEW, shipped[::2], corrected=False),
        "no twin": verdict(shipped[0], None, VIEW),
        "raw, no twin": verdict(shipped[0], None, VIEW, corrected=False),
        "twin against itself": verdict(shipped[1], shipped[1], VIEW),
        "many prompts": verdict_over(own, twins),
        "raw of many": verdict_over(own, twins, corrected=False),
    }
    assert {name: (str(found), found.reason) for name, found in said.items()} == snapshot
    assert (said["raw"].above, said["raw"].pairs) == (56, 56)  # judged as the corrected ones
    for at in (0, 1, 2, 4):
        means = score_pairs(shipped[at], MIDDLE).mean()
        assert f"{means.coupling:.3f} at chance level {means.chance:.3f}" in str(said["raw"])


def test_many_prompts_are_judged_by_the_means_of_their_pairs(shipped, own, twins):
    found, means = verdict_over(own, twins), [mean(one) for one in shipped[::2]]
    assert found.trained.corrected == pytest.approx(np.mean(means))
    assert (found.above, found.pairs, found.over.n) == (56, 56, 3)
    over = known_interval(np.array(means))
    assert f"{over.low:.3f} to {over.high:.3f}" in str(found)
    assert verdict_over(twins, twins).above == 0
    # A pair that beats the twin in one prompt alone does not beat it in the mean.
    less = replace(own[0].scores, corrected=0.9 * own[0].scores.corrected)
    assert verdict_over([own[0], *twins[:2]], [replace(own[0], scores=less)] * 3).above == 0


def test_pairs_above_the_twin_are_counted(shipped):
    view, off = replace(VIEW, blocks=tuple(range(1, 31))), ~np.eye(30, dtype=bool)
    found = verdict(shipped[0], shipped[1], view)
    trained, twin = (score_pairs(one, view).corrected[off] for one in shipped[:2])
    assert (found.above, found.pairs) == ((trained > twin.max()).sum(), 870)
    assert 0 < found.above < found.pairs


def test_a_shallow_model_is_taken_whole_and_one_block_has_no_pair():
    result = random_result()
    assert verdict(result, None, View(2)).blocks == tuple(range(1, result.n_blocks + 1))
    assert verdict(result, None, View(2, blocks=(1,))) is None
    mean = result.scores(k=result.default_k).mean()  # its own verdict has all three numbers
    for number in (mean.coupling, mean.chance, mean.corrected):
        assert f"{number:.3f}" in result.verdict


def test_the_row_that_the_final_norm_lifts_is_told():
    scores = np.full((4, 4), 0.1)
    even = planted(scores.copy())
    scores[-1] = 0.9
    lifted = planted(scores)
    found = score_pairs(lifted, PLANTED)
    rest = (found.corrected[:3].sum() - np.trace(found.corrected[:3])) / 9
    told = depth_views.verdict(lifted, PLANTED)
    assert "Block 4 includes the final norm" in told
    assert f"the others (mean {rest:.3f})." in told
    excluded = replace(lifted, request=replace(lifted.request, final_norm="exclude"))
    none = replace(lifted, provenance=dict(lifted.provenance) | {"final_norm": False})
    for one in (even, excluded, none):
        assert "final norm, so" not in depth_views.verdict(one, PLANTED)
