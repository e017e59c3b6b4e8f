"""Coupling against effect: planted worlds, in which it is known what there is to be found."""

import itertools

import numpy as np
import pytest
from scipy import stats

from coupling_core.analysis.coupling_effect import coupling_effect

BLOCKS, PROMPTS = 16, 20
APART = np.abs(np.subtract.outer(np.arange(BLOCKS), np.arange(BLOCKS)))


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
    coupling, effect = world(3, by_distance=1, by_coupling=1)
    found = coupling_effect(coupling, effect)
    at = np.triu_indices(BLOCKS, 1)
    c = coupling.mean(0)[at]
    e = -np.log(effect).mean(0)[at]
    assert found.raw.rho == pytest.approx(stats.spearmanr(c, e).statistic)
    assert found.distance.rho == pytest.approx(stats.spearmanr(-APART[at], e).statistic)
    d = APART[at]
    left = [(r := stats.rankdata(v)) - np.polyval(np.polyfit(d, r, 2), d) for v in (c, e)]
    assert found.partial.rho == pytest.approx(np.corrcoef(*left)[0, 1])


def test_p_is_the_share_of_all_orders_of_the_blocks():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        one, other = (sum(np.meshgrid(v, v)) for v in rng.standard_normal((2, 6)))
        one, other = (values + symmetric(rng)[:6, :6] / 2 for values in (one, other))
        at = np.triu_indices(6, 1)
        every = [
            stats.spearmanr(one[at], other[np.ix_(order, order)][at]).statistic
            for order in itertools.permutations(range(6))
        ]
        exact = np.mean(np.abs(every) >= abs(every[0]) - 1e-9)
        found = coupling_effect(one[None], np.exp(-other)[None])
        assert found.mantel_p == pytest.approx(exact, abs=0.06)


def test_both_directions_of_a_pair_count_alike():
    coupling, effect = world(3, by_distance=1, by_coupling=1)
    rng = np.random.default_rng(0)
    odd = rng.standard_normal(coupling.shape)
    odd -= odd.transpose(0, 2, 1)
    found = coupling_effect(coupling + odd, effect * np.exp(odd))
    assert found.partial.rho == pytest.approx(coupling_effect(coupling, effect).partial.rho)


def test_inner_blocks_are_all_but_two_at_either_end():
    coupling, effect = world(3, by_distance=1, by_coupling=1)
    found = coupling_effect(coupling, effect, inner=True)
    assert (found.blocks, found.pairs) == ((3, BLOCKS - 2), 66)
    inner = coupling_effect(coupling[:, 2:-2, 2:-2], effect[:, 2:-2, 2:-2])
    assert found.partial == inner.partial


def test_pairs_without_a_number_are_left_out():
    coupling, effect = world(3, by_distance=1, by_coupling=1)
    effect[0, 2, 5] = np.nan
    assert coupling_effect(coupling, effect).pairs == BLOCKS * (BLOCKS - 1) // 2 - 1


def test_few_prompts_have_no_interval_and_claim_nothing():
    coupling, effect = world(3, by_distance=0, by_coupling=3)
    found = coupling_effect(coupling[:3], effect[:3])
    assert np.isnan(found.partial.low)
    assert not found.claims
    assert "at least 5 prompts" in found.verdict
