"""Models of one block, and ranks far below the width: what is said where scores do not exist."""

from typing import get_args

import numpy as np
import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

import coupling_core as cc
from coupling_core.base.errors import InputError

IDS = [1, 2, 3, 4]


def llama(layers: int, seed: int = 0) -> LlamaForCausalLM:
    """Two heads of keys and values for four of queries: between tokens the ranks are 36 of 64."""
    torch.manual_seed(seed)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    sizes = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 128}
    return LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, **heads, **sizes)).eval()


@pytest.fixture(scope="module")
def alone() -> LlamaForCausalLM:
    return llama(1)


@pytest.fixture(scope="module")
def four() -> LlamaForCausalLM:
    return llama(4)


@pytest.mark.parametrize("kind", get_args(cc.Kind))
def test_a_model_of_one_block_is_measured_and_told(kind, alone):
    result = cc.measure(IDS, kind=kind, model=alone, store=None)
    assert result.complete
    table = result.to_pandas()
    assert len(table) > 0
    assert "yet" not in result.verdict
    assert result.plot().figure.data
    if kind == "what-if":
        assert set(table["verb"]) == {"skip", "repeat", "damp"}
        assert table["divergence"].notna().all()
    if kind == "directions":
        assert not result.missing
        assert np.isfinite(result.peakedness).all()


def test_why_no_pair_of_blocks_has_a_score(alone):
    lone = cc.measure(IDS, model=alone, store=None).scores()
    assert not np.isfinite(lone.mean().corrected)
    assert "there is one block alone" in lone.verdict
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64}
    config = GPTNeoXConfig(num_hidden_layers=3, num_attention_heads=2, **sizes)
    normed = cc.measure(IDS, model=GPTNeoXForCausalLM(config).eval(), k=32, store=None)
    assert normed.rank.min() == 31  # a layer norm takes one
    assert "the smallest 31." in normed.scores(k=32).verdict


def test_pairs_between_tokens_without_a_score_are_counted_with_the_reason(four):
    between = cc.measure(IDS, kind="fixed-output", block=2, other_block=1, model=four, store=None)
    usual = between.scores()
    assert np.isfinite(usual.corrected).all()  # at a K that their ranks have
    assert "over all pairs" in usual.verdict
    scores = between.scores(k=50)
    found = np.isfinite(scores.corrected).sum()
    assert 0 < found < 16
    assert f"over {found} of 16 pairs" in scores.verdict
    assert f"the smallest is {between.rank[between.rank > 0].min()}." in scores.verdict


def test_a_comparison_of_tokens_has_the_means_of_its_sides():
    a, b = (cc.measure(IDS, kind="self", model=llama(2, seed), store=None) for seed in (0, 1))
    found = cc.compare(a, b, k=10, corrected=True).mean()
    sides = [of.scores(k=10) for of in (a, b)]
    means = [side.mean().corrected for side in sides]
    assert [found.a, found.b] == pytest.approx(means, abs=1e-12)
    assert found.difference == pytest.approx(means[0] - means[1], abs=1e-12)
    others = ~np.eye(len(IDS), dtype=bool)
    maps = [side.corrected[others] for side in sides]
    assert found.correlation == pytest.approx(np.corrcoef(*maps)[0, 1])


def test_two_pairs_correlate_in_no_sentence(four):
    a, b = (cc.measure(IDS, model=m, store=None) for m in (four, llama(4, seed=1)))
    assert "correlate" in cc.compare(a, b, blocks="1-3").verdict
    assert "correlate" not in cc.compare(a, b, blocks="1-2").verdict


def test_paths_too_short_for_a_figure_are_refused(four):
    paths = cc.measure(IDS, kind="trajectory", model=four, store=None)
    with pytest.raises(InputError, match=r"11 .* 5"):
        paths.plot("line-shape-by-depth")
    other = cc.measure([4, 3, 2], kind="trajectory", model=four, store=None)
    median = cc.compare(paths, other).plot().figure.data[0].y
    assert np.isfinite(median).all()
