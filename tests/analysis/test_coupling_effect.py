"""Coupling against effect: planted worlds, in which it is known what there is to be found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from cases import random_result, what_if_result
from scipy import stats

from coupling_core import EffectView, View
from coupling_core.analysis.coupling_effect import coupling_effect
from coupling_core.analysis.effect_study import ARRAYS, study_of
from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.scores import score_pairs

BLOCKS, PROMPTS = 16, 20
APART = np.abs(np.subtract.outer(np.arange(BLOCKS), np.arange(BLOCKS)))
UPPER = np.triu_indices(BLOCKS, 1)


def symmetric(rng, *shape):
    drawn = rng.standard_normal((*shape, BLOCKS, BLOCKS))
    return (drawn + np.swapaxes(drawn, -1, -2)) / np.sqrt(2)


def world(seed, *, by_distance, by_coupling):
    """Scores that fall off with distance, and effects that depend on what they are told."""
    rng = np.random.default_rng(seed)
    own = symmetric(rng)
    coupling = 3 * own - APART + symmetric(rng, PROMPTS)
    small = -by_distance * APART + by_coupling * own + 4 * symmetric(rng, PROMPTS)
    return coupling, np.exp(-small)


BOTH = world(3, by_distance=1, by_coupling=1)


def test_where_the_effect_depends_on_distance_alone_nothing_is_claimed():
    found = [coupling_effect(*world(s, by_distance=1, by_coupling=0), seed=s) for s in range(50)]
    assert 42 <= sum(one.partial.holds_zero for one in found) <= 50
    assert sum(one.claims for one in found) <= 6
    assert all(one.raw.rho > 0.3 and not one.raw.holds_zero for one in found)  # what misleads
    assert sum(one.partial_mantel_p < 0.05 for one in found) <= 7
    assert any("does not show" in one.verdict for one in found)


def test_where_it_depends_on_coupling_alone_that_is_found():
    found = [coupling_effect(*world(s, by_distance=0, by_coupling=3), seed=s) for s in range(8)]
    assert all(one.claims and one.partial.rho > 0.5 for one in found)
    assert all("smaller for the more coupled" in one.verdict for one in found)
    turned = coupling_effect(*world(0, by_distance=0, by_coupling=-3))
    assert turned.partial.rho < -0.5
    assert "larger for the more coupled" in turned.verdict


def test_correlations_are_those_of_the_ranks():
    found = coupling_effect(*BOTH)
    c, e, d = BOTH[0].mean(0)[UPPER], -np.log(BOTH[1]).mean(0)[UPPER], APART[UPPER]
    assert found.raw.rho == pytest.approx(stats.spearmanr(c, e).statistic)
    assert found.distance.rho == pytest.approx(stats.spearmanr(-d, e).statistic)
    left = [(r := stats.rankdata(v)) - np.polyval(np.polyfit(d, r, 2), d) for v in (c, e)]
    assert found.partial.rho == pytest.approx(np.corrcoef(*left)[0, 1])


def test_p_is_the_share_of_all_orders_of_the_blocks():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        one, other = (sum(np.meshgrid(v, v)) for v in rng.standard_normal((2, 6)))
        one, other = (values + symmetric(rng)[:6, :6] / 2 for values in (one, other))
        at, orders = np.triu_indices(6, 1), np.array([*itertools.permutations(range(6))])
        ranks = stats.rankdata([other[np.ix_(o, o)][at] for o in orders], axis=1)
        every = np.abs(np.corrcoef(stats.rankdata(one[at]), ranks)[0, 1:])
        found = coupling_effect(one[None], np.exp(-other)[None])
        assert found.mantel_p == pytest.approx(np.mean(every >= every[0] - 1e-9), abs=0.06)


def test_both_directions_of_a_pair_count_alike():
    coupling, effect = BOTH
    odd = np.random.default_rng(0).standard_normal(coupling.shape)
    odd -= odd.transpose(0, 2, 1)
    found = coupling_effect(coupling + odd, effect * np.exp(odd))
    assert found.partial.rho == pytest.approx(coupling_effect(*BOTH).partial.rho)


def test_inner_blocks_are_all_but_two_at_either_end():
    found = coupling_effect(*BOTH, inner=True)
    assert (found.blocks, found.pairs) == ((3, BLOCKS - 2), 66)
    assert found.partial == coupling_effect(*(part[:, 2:-2, 2:-2] for part in BOTH)).partial


def test_pairs_without_a_number_are_left_out_and_few_prompts_claim_nothing():
    effect = BOTH[1].copy()
    effect[0, 2, 5] = np.nan
    assert coupling_effect(BOTH[0], effect).pairs == BLOCKS * (BLOCKS - 1) // 2 - 1
    coupling, effect = world(3, by_distance=0, by_coupling=3)
    found = coupling_effect(coupling[:3], effect[:3])
    assert np.isnan(found.partial.low)
    assert not found.claims
    assert "at least 5 prompts" in found.verdict


def measured(seed, identity=None, n_blocks=6):
    """Coupling and effects of one prompt."""
    depth = random_result(seed, n_blocks=n_blocks)
    depth = replace(depth, identity=identity or depth.identity)
    effects = what_if_result(len(depth.tokens), n_blocks, seed)
    return depth, replace(effects, identity=depth.identity, tokens=depth.tokens)


def test_a_study_has_a_row_a_prompt_at_the_tokens_of_the_view():
    first = measured(0)
    pairs = [first, *(measured(seed, first[0].identity) for seed in (1, 2))]
    found = study_of(pairs, 4)
    assert (len(found.prompts), found.k) == (3, 4)
    depth, effects = pairs[1]
    maps = effect_maps(effects, EffectView())
    np.testing.assert_allclose(found.interchange[1], maps.interchange, rtol=1e-6)
    np.testing.assert_array_equal(maps.interchange, maps.interchange.T)
    np.testing.assert_allclose(found.coupling[1], score_pairs(depth, View(k=4)).corrected, 1e-5)
    assert all(getattr(found, name).dtype == np.float32 for name in ARRAYS)
    expected = coupling_effect(found.coupling, found.replace)
    assert found.correlated("replace").raw == expected.raw
    second = study_of([first], 4, EffectView((2,)))
    expected = effect_maps(first[1], EffectView((2,))).replace
    np.testing.assert_allclose(second.replace[0], expected, rtol=1e-6)
