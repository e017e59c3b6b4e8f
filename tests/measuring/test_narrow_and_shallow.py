"""Models of one block, and ranks far below the width: what is said where scores do not exist."""

from typing import get_args

import numpy as np
import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

import coupling_core as cc
from coupling_core.analysis.scores import mean_off_diagonal
from coupling_core.base.errors import InputError

IDS = [1, 2, 3, 4]


def llama(layers: int, seed: int = 0) -> LlamaForCausalLM:
    """Two heads of keys and values for four of queries: between tokens the ranks are 36 of 64."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM(config).eval()


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
    assert len(result.to_pandas()) > 0
    assert "yet" not in result.verdict
    assert result.plot().figure.data


def test_the_edits_of_one_block_have_effects_and_its_directions_readouts(alone):
    edits = cc.measure(IDS, kind="what-if", model=alone, store=None).to_pandas()
    assert set(edits["verb"]) == {"skip", "repeat", "damp"}
    assert edits["divergence"].notna().all()
    found = cc.measure(IDS, kind="directions", model=alone, store=None)
    assert not found.missing
    assert np.isfinite(found.peakedness).all()


def test_why_no_pair_of_blocks_has_a_score(alone):
    lone = cc.measure(IDS, model=alone, store=None)
    assert lone.scores().verdict == (
        "No pair of different blocks has a score at K = 50: there is one block alone."
    )
    config = GPTNeoXConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=2,
        use_parallel_residual=True,
    )
    normed = cc.measure(IDS, model=GPTNeoXForCausalLM(config).eval(), k=32, store=None)
    assert normed.rank.min() == 31  # a layer norm takes one
    assert normed.scores(k=32).verdict == (
        "No pair of different blocks has a score at K = 32: the rank of a Jacobian is below it, "
        "the smallest 31."
    )


@pytest.mark.parametrize("block", [{}, {"block": 2, "other_block": 1}])
def test_the_usual_k_between_tokens_is_one_that_their_ranks_have(block, four):
    between = cc.measure(IDS, kind="fixed-output", model=four, store=None, **block)
    assert np.isfinite(between.scores().corrected).all()
    assert "over all pairs" in between.scores().verdict


def test_pairs_without_a_score_are_counted_with_the_reason(four):
    between = cc.measure(IDS, kind="fixed-output", block=2, other_block=1, model=four, store=None)
    scores = between.scores(k=50)
    found = np.isfinite(scores.corrected).sum()
    assert 0 < found < 16
    assert f"over {found} of 16 pairs" in scores.verdict
    assert f"the smallest is {between.rank[between.rank > 0].min()}." in scores.verdict


@pytest.mark.parametrize("kind", ["self", "fixed-output"])
@pytest.mark.parametrize("corrected", [True, False])
def test_a_comparison_of_tokens_has_the_means_of_its_sides(kind, corrected, four):
    a, b = (cc.measure(IDS, kind=kind, model=m, store=None) for m in (four, llama(4, seed=1)))
    found = cc.compare(a, b, k=10, corrected=corrected)
    sides = [of.scores(k=10) for of in (a, b)]
    name = "corrected" if corrected else "coupling"
    means = [getattr(side.mean(), name) for side in sides]
    assert [found.mean().a, found.mean().b] == pytest.approx(means, abs=1e-12)
    assert found.mean().difference == pytest.approx(means[0] - means[1], abs=1e-12)
    others = ~np.eye(len(IDS), dtype=bool)
    maps = [getattr(side, name)[others] for side in sides]
    assert found.mean().correlation == pytest.approx(np.corrcoef(*maps)[0, 1])
    assert "correlate over pairs of different tokens" in found.verdict


def test_two_pairs_correlate_in_no_sentence(four):
    a, b = (cc.measure(IDS, model=m, store=None) for m in (four, llama(4, seed=1)))
    assert "correlate" in cc.compare(a, b, blocks="1-3").verdict
    assert "correlate" not in cc.compare(a, b, blocks="1-2").verdict


def test_paths_too_short_for_a_figure_are_refused(four):
    paths = cc.measure(IDS, kind="trajectory", model=four, store=None)
    with pytest.raises(InputError, match="takes 11 states in a row, and the model has 5"):
        paths.plot("line-shape-by-depth")
    other = cc.measure([4, 3, 2], kind="trajectory", model=four, store=None)
    median = cc.compare(paths, other).plot().figure.data[0].y
    assert np.isfinite(median).all()


def test_a_graph_and_locality_of_some_blocks(four):
    result = cc.measure(IDS, model=four, store=None)
    graph = cc.layer_graph(result, k=8, blocks="2-4", threshold=0)
    assert list(graph) == [2, 3, 4]
    scores = result.scores(k=8, blocks="2-4")
    both = (scores.corrected + scores.corrected.T) / 2
    weights = [graph.edges[edge]["weight"] for edge in graph.edges]
    assert len(weights) == (both[np.triu_indices(3, 1)] >= 0).sum()
    known = cc.locality(result)
    means = np.average(known.mean, weights=known.pairs)
    assert means == pytest.approx(mean_off_diagonal(result.scores().corrected))


def test_a_view_may_be_said_by_its_fields(four):
    paths = cc.measure(IDS, kind="trajectory", model=four, store=None)
    named = cc.project_paths(paths, part="deeper", first=True)
    whole = cc.project_paths(paths, cc.PathView(part="deeper", first=True))
    np.testing.assert_array_equal(named.coordinates, whole.coordinates)
    found = [cc.measure(ids, kind="directions", model=four, store=None) for ids in (IDS, [4, 3])]
    view = cc.DirectionsView(blocks=(2, 3), leading=4)
    by_view, by_name = (
        cc.between_prompts(found, view),
        cc.between_prompts(found, blocks="2-3", leading=4),
    )
    np.testing.assert_array_equal(by_view.angles, by_name.angles)
    np.testing.assert_array_equal(
        cc.shared_of(found[0], view, "v").directions,
        cc.shared_of(found[0], side="v", blocks="2-3", leading=4).directions,
    )
    for call in (
        lambda: cc.project_paths(paths, cc.PathView(), part="deeper"),
        lambda: cc.shared_of(found[0], view, leading=4),
        lambda: cc.between_prompts(found, view, blocks=[2]),
    ):
        with pytest.raises(InputError, match="came beside a view, which has its own"):
            call()


def test_a_prompt_that_comes_twice_is_told(four):
    with pytest.warns(UserWarning, match="1 of the prompts comes more than once"):
        table = cc.measure_many([IDS, IDS], four, k=(4, 8), store=None, progress=False)
    assert len(table) == 4
    assert table.attrs["k"] == [4, 8]


def test_blocks_of_a_penalty_are_named_as_everywhere(four):
    model = llama(4).train()
    penalty = cc.coupling_penalty(model, blocks=[2, 3], pairs=2, k=3)
    model(torch.tensor([IDS]))
    penalty()
    penalty.close()
    assert -1 <= penalty.alignment <= 1
    with pytest.raises(InputError, match="block 9"):
        cc.coupling_penalty(four, blocks=[1, 9])
