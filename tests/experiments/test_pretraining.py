"""How a language model is trained from its first step: one that trains in seconds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from coupling_core import ComputeError, Request, measure
from coupling_core.experiments.pretraining import batches, corpus, model, training
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import Suite

pytestmark = pytest.mark.usefixtures("one_thread")

PLAN = Plan(
    "mini-8", 32, 3e-3, blocks=2, heads=2, steps=(0, 1, 8, 20), batch=4, context=32, warmup=4
)
REPO = f"{hub.cache.OWNER}/mini-8"
SUITE = Suite("mini-8", REPO, "Tiny", PLAN.steps)
WORDS = "the ship sailed over the quiet sea and the crew sang of home while rain fell".split()


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A corpus of words in random order."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = np.random.default_rng(0)
    corpus.encode([" ".join(draw.choice(WORDS, 300)) for _ in range(40)], folder)
    return corpus.read(folder)


def train(text, plan=PLAN, stop_after=None, repo=REPO):
    """Train into the user's cache; gives the losses that were told."""
    losses = []

    def report(at):
        losses.append((at.step, at.loss, at.held_out))
        if at.step == stop_after:
            raise KeyboardInterrupt

    training.train(plan, text, hub.cache.trained_here(repo), report, "cpu")
    return losses


def test_twenty_steps_learn_and_every_checkpoint_is_a_revision_that_is_measured(text):
    losses = train(text)
    assert losses[0][2] == pytest.approx(math.log(corpus.VOCABULARY), rel=0.1)
    assert losses[-1][2] < losses[0][2] - 1
    assert SUITE.here() == SUITE.known() == PLAN.steps
    assert hub.commit(REPO, None) == hub.commit(REPO, "step20")
    asked = [SUITE.request(Request("the quiet sea", k=8), step) for step in PLAN.steps]
    assert len({resolve(one).identity["digest"] for one in asked}) == len(PLAN.steps)
    kept = SUITE.losses()
    assert list(kept) == list(PLAN.steps)
    assert kept[20] == pytest.approx(losses[-1][2], abs=1e-5)
    made = json.loads((hub.cache.repository(REPO) / "recipe.json").read_text())
    assert (made["plan"]["width"], made["tokens"]) == (32, 20 * 4 * 32)
    first, last = measure(asked[0]), measure(asked[-1])
    assert (first.n_blocks, first.width) == (2, 32)
    assert not np.allclose(first.singular_values, last.singular_values)
    with pytest.raises(ComputeError, match="step8"):
        resolve(SUITE.request(Request("the sea"), 9))
    with pytest.raises(ComputeError, match="another recipe"):
        train(text, replace(PLAN, learning_rate=1e-3))


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(text):
    """To the bit: the same numbers drawn, the same losses, the same file of weights."""
    plan = replace(PLAN, drop_path=0.5)
    whole = train(text, plan, repo=f"{REPO}-whole")
    with pytest.raises(KeyboardInterrupt):
        train(text, plan, stop_after=11)
    rest = train(text, plan)
    assert rest[0][0] == 8  # the last that was saved
    assert rest[1:] == whole[9:]
    commits = [hub.commit(repo, "step20") for repo in (REPO, f"{REPO}-whole")]
    assert commits[0] == commits[1]
    with pytest.raises(ComputeError, match="too high"):
        train(text, replace(PLAN, learning_rate=1e30), repo=f"{REPO}-wild")


def test_initialisation_is_pythias():
    built = model.build(replace(PLAN, width=128, blocks=8))
    for name, parameter in built.requires_grad_(False).named_parameters():
        if parameter.ndim == 2:
            writes = name.endswith(("attention.dense.weight", "4h_to_h.weight"))
            expected = 2 / (8 * 128**0.5) if writes else (2 / (5 * 128)) ** 0.5
            assert float(parameter.std()) == pytest.approx(expected, rel=0.05), name
        else:
            assert float(parameter.abs().max()) in (0.0, 1.0), name


def test_dropped_blocks_add_as_much_on_average_and_nothing_once_measured():
    state = torch.randn(4000, 1, 32, generator=torch.Generator().manual_seed(0))
    plain, dropping = (
        model.build(replace(PLAN, blocks=3, drop_path=rate)).requires_grad_(False).gpt_neox
        for rate in (0.0, 0.6)
    )
    rotary = plain.rotary_emb(state, torch.zeros(1, 1, dtype=torch.long))
    given = {"attention_mask": None, "position_embeddings": rotary}
    for plain_layer, layer, rate in zip(
        plain.layers, dropping.layers, (0.0, 0.3, 0.6), strict=True
    ):
        added = plain_layer(state, **given) - state
        torch.manual_seed(1)
        dropped = layer(state, **given) - state
        kept = dropped.abs().amax((1, 2)) > 0
        assert float(kept.double().mean()) == pytest.approx(1 - rate, abs=0.03)
        torch.testing.assert_close(dropped[kept], added[kept] / (1 - rate), atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(layer.eval()(state, **given) - state, added)


def test_every_window_comes_once_an_epoch():
    text = np.arange(10 * 7 + 3, dtype=np.uint16)
    starts = [int(row[0]) for step in range(5) for row in batches.batch(text, step, 4, 7, seed=0)]
    assert sorted(starts[:10]) == sorted(starts[10:]) == [7 * i for i in range(10)]
    assert starts[:10] != starts[10:]
    assert starts[:4] != [int(row[0]) for row in batches.batch(text, 0, 4, 7, seed=1)]


def test_a_twentieth_of_the_documents_is_held_out(tmp_path):
    corpus.encode([f"document {number} " * 30 for number in range(40)], tmp_path)
    words = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    learned, held_out = (
        words.decode(np.load(tmp_path / f"{part}.npy").tolist()) for part in ("learned", "held_out")
    )
    assert held_out.count("document 19 ") == held_out.count("document 39 ") == 30
    assert "document 19 " not in learned
    assert learned.count("document") == 38 * 30
