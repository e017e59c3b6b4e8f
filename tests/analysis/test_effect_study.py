"""Coupling and effects over many prompts, put together from what was measured of each."""

from dataclasses import replace

import numpy as np
from cases import random_result, what_if_result

from coupling_core import EffectView, View
from coupling_core.analysis.coupling_effect import coupling_effect
from coupling_core.analysis.effect_study import ARRAYS, study_of
from coupling_core.analysis.effects import effect_maps
from coupling_core.analysis.scores import score_pairs


def pair(seed, n_blocks=6):
    depth = random_result(seed, n_blocks=n_blocks)
    effects = what_if_result(len(depth.tokens), n_blocks, seed)
    return depth, replace(effects, identity=depth.identity, tokens=depth.tokens)


def test_each_prompt_has_its_row():
    measured = [pair(seed) for seed in range(3)]
    measured = [
        (replace(d, identity=measured[0][0].identity), replace(e, identity=measured[0][0].identity))
        for d, e in measured
    ]
    found = study_of(measured, 4)
    assert (len(found.prompts), found.n_blocks, found.k) == (3, 6, 4)
    depth, effects = measured[1]
    maps = effect_maps(effects, EffectView())
    np.testing.assert_allclose(found.interchange[1], maps.interchange, rtol=1e-6)
    np.testing.assert_allclose(found.damp[1], maps.damp, rtol=1e-6)
    np.testing.assert_allclose(found.coupling[1], score_pairs(depth, View(k=4)).corrected, 1e-5)
    np.testing.assert_allclose(found.cosine[1], np.median(effects.exchange_cosine, 1), rtol=1e-6)
    assert all(getattr(found, name).dtype == np.float32 for name in ARRAYS)
    expected = coupling_effect(found.coupling, found.replace)
    assert found.correlated("replace").raw == expected.raw


def test_tokens_are_those_of_the_view():
    depth, effects = pair(0)
    found = study_of([(depth, effects)], 4, EffectView((2,)))
    expected = effect_maps(effects, EffectView((2,))).skip
    np.testing.assert_allclose(found.skip[0], expected, rtol=1e-6)
