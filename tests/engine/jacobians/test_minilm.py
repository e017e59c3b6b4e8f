"""A real bidirectional model, all-MiniLM-L6-v2: a trained BERT of six blocks, measured at [SEP]."""

import pytest

from coupling_core import Request, View, mean_off_diagonal, score_pairs
from coupling_core.engine.loading import prepare
from coupling_core.sources.aliases import ALIASES
from coupling_core.sources.identity import locate
from coupling_core.sources.resolved import resolve

pytestmark = [pytest.mark.real, pytest.mark.full, pytest.mark.usefixtures("one_thread")]

MODEL = "minilm-l6"
PROMPT = "What is the capital of France?"
TOKENS = ("[CLS]", "what", "is", "the", "capital", "of", "france", "?", "[SEP]")
REQUEST = Request(PROMPT, model=MODEL)


def test_the_alias_is_the_folder_in_its_package():
    assert prepare(MODEL) == locate(REQUEST).converted
    assert resolve(REQUEST).identity["digest"] == ALIASES[MODEL].sha256


def test_trained_blocks_are_coupled_more_than_untrained_ones(trained, untrained):
    """Measured: 0.366 and 0.156. Untrained post-norm blocks share what their norm removes."""
    assert (trained.token, trained.tokens) == (9, TOKENS)
    assert trained.next_tokens == ()
    assert not trained.provenance["causal"]
    assert not trained.provenance["final_norm"]
    assert trained.certified
    assert (trained.n_blocks, trained.width, trained.k_max) == (6, 384, 50)
    found, by_chance = (
        mean_off_diagonal(score_pairs(result, View(k=50)).corrected)
        for result in (trained, untrained)
    )
    assert found == pytest.approx(0.366, abs=0.01)
    assert by_chance == pytest.approx(0.156, abs=0.02)
