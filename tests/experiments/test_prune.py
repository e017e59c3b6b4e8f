"""Blocks ranked, judged and left out: planted models, and saved ones read by transformers alone."""

import json
import os
import re
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import tiny
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from coupling_core import ComputeError, measure, prune
from coupling_core.engine.edits.shorter import text_loss
from coupling_core.experiments.pruning import saving

TEXTS = [
    "The cat sat on the mat because it was tired", "and the dog lay down beside it",
    "the mat was on the cat", "it was the dog", "beside the mat it sat down",
    "the tired dog sat on the cat", "because the cat lay on it",
]  # fmt: skip
NAMED = ("influence", "angle", "kl", "last")
"""Rankings of the planted model: a block that does nothing has no Jacobian to be coupled by."""
IDLE = 2
"""The block of the planted model that does nothing."""


def planted():
    """A model one of whose blocks passes its input on."""
    model = tiny.model("llama")
    block = model.model.layers[IDLE - 1]
    block.self_attn.o_proj.weight.zero_()
    block.mlp.down_proj.weight.zero_()
    return model


def pruned(model, texts=TEXTS, **options):
    return prune(model, texts, tokenizer=tiny.tokenizer(), **options)


@pytest.fixture(scope="module")
def plan():
    return pruned(planted(), by=(*NAMED, "random"), remove=(1, 2))


def ids_of(texts):
    return [torch.tensor([tiny.tokenizer()(text)["input_ids"]]) for text in texts]


def plain_loss(model, texts):
    """Loss a token, as a model of transformers is called."""
    ids = ids_of(texts)
    return sum(text_loss(model, one) for one in ids) / sum(one.shape[1] - 1 for one in ids)


def with_layers(layers):
    """The planted model with other blocks, one after the other."""
    other = planted()
    other.model.layers = nn.ModuleList([other.model.layers[block - 1] for block in layers])
    return other


def test_a_block_that_does_nothing_goes_first_and_costs_nothing(plan):
    for by in ("kl", "influence"):
        point = plan.point(by, 1)
        assert point.blocks == (IDLE,)
        assert point.left_out.loss == pytest.approx(plan.whole.loss, abs=1e-7)
        assert plan.by_block[by][IDLE - 1] == pytest.approx(0, abs=1e-7)
        drawn = [cut for cut in plan.cuts if cut.by == "random" and len(cut.blocks) == 1]
        assert point.beats == sum(sum(cut.loss) > sum(plan.own_loss) + 1e-5 for cut in drawn)
    assert plan.point("angle", 1).blocks == (IDLE,)  # its state does not turn
    first, second = plan.point("angle", 2).blocks
    assert second == first + 1


def test_every_set_costs_what_the_model_without_it_does(plan):
    assert plan.whole.loss == pytest.approx(plain_loss(planted(), plan.judged_on), abs=1e-6)
    for point in plan.curve:
        if point.by == "random":
            continue
        kept = [block for block in range(1, 5) if block not in point.blocks]
        loss = plain_loss(with_layers(kept), plan.judged_on)
        assert point.left_out.loss == pytest.approx(loss, abs=1e-5)
        nearest = [min(kept, key=lambda b, s=slot: (abs(b - s), b)) for slot in range(1, 5)]
        loss = plain_loss(with_layers(nearest), plan.judged_on)
        assert point.tied.loss == pytest.approx(loss, abs=1e-5)


@torch.no_grad()
def test_greedy_removal_measures_anew_after_each_block(plan):
    """The second block is the one that costs least once the first is gone."""

    def log_p(model, ids):
        return model(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)

    model, cost = planted(), {}
    for block in (1, 3, 4):
        other = with_layers([b for b in range(1, 5) if b not in (IDLE, block)])
        of_texts = [(log_p(model, ids), log_p(other, ids)) for ids in ids_of(plan.ranked_on)]
        cost[block] = sum(float((p.exp() * (p - q)).sum()) for p, q in of_texts)
    assert plan.point("kl", 2).blocks == tuple(sorted((IDLE, min(cost, key=cost.get))))


def test_the_most_coupled_with_its_neighbours_goes_first():
    model, words = tiny.model("llama"), tiny.tokenizer()
    made = pruned(model, by="coupling", remove=1)
    scores = np.zeros((4, 4))
    for text in made.ranked_on:
        result = measure(text, model=model, tokenizer=words, store=None)
        scores += result.scores(k=result.default_k).corrected
    beside = [
        np.mean([scores[pair] for m in (b - 1, b + 1) if 0 <= m < 4 for pair in ((b, m), (m, b))])
        for b in range(4)
    ]
    np.testing.assert_allclose(made.by_block["coupling"], np.array(beside) / len(made.ranked_on))
    assert made.point("coupling", 1).blocks == (int(np.argmax(beside)) + 1,)


def test_texts_that_rank_do_not_judge_and_random_sets_are_nested(plan):
    assert plan.ranked_on == tuple(TEXTS[::3])
    assert sorted(plan.ranked_on + plan.judged_on) == sorted(TEXTS)
    drawn = [cut for cut in plan.cuts if cut.by == "random"]
    assert len(drawn) == 40
    one, two = ([c.blocks for c in drawn if len(c.blocks) == n] for n in (1, 2))
    assert all(set(fewer) < set(more) for fewer, more in zip(one, two, strict=True))
    block = sum(p.numel() for p in planted().model.layers[0].parameters())
    assert plan.megabytes((1, 3)) == pytest.approx(8 * block / 1e6)
    (line,) = (trace for trace in plan.plot().figure.data if trace.uid == "kl")
    assert list(line.y) == [plan.point("kl", n).left_out.loss for n in (1, 2)]


FRESH = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
texts = json.load(sys.stdin)
for folder in sys.argv[1:]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    words = AutoTokenizer.from_pretrained(folder)
    total = count = 0
    for text in texts:
        ids = words(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0, :-1].double()
        total += float(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum"))
        count += ids.shape[1] - 1
    more = [
        model.generate(ids, max_new_tokens=6, do_sample=False, use_cache=cached).tolist()
        for cached in (True, False)
    ]
    print(json.dumps([total / count, more[0] == more[1], model.config.num_hidden_layers]))
assert not any(name.startswith("coupling") for name in sys.modules)
"""


@pytest.mark.full
def test_saved_models_have_the_promised_loss_in_a_fresh_process(plan, tmp_path):
    """One of a plain family, and one whose config lists the kind of every block."""
    plans = {"llama": (plan, "kl", 2)}
    plans["gemma3"] = (pruned(tiny.model("gemma3"), by="last", remove=1), "last", 1)
    for name, (made, by, count) in plans.items():
        assert made.save(tmp_path / name, by, count) == tmp_path / name
    apart = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", FRESH, *(str(tmp_path / name) for name in plans)],
        input=json.dumps(plan.judged_on), capture_output=True, text=True, cwd=tmp_path, env=apart,
        check=True,
    )  # fmt: skip
    for line, (made, by, count) in zip(done.stdout.splitlines(), plans.values(), strict=True):
        loss, same, blocks = json.loads(line)
        assert loss == pytest.approx(made.point(by, count).left_out.loss, abs=1e-5)
        assert same
        assert blocks == 4 - count


def test_a_saved_folder_says_how_it_was_made(plan, tmp_path):
    (tmp_path / "short").mkdir()  # an empty one may be there
    folder, point = plan.save(tmp_path / "short", "influence", 1), plan.point("influence", 1)
    card = (folder / "README.md").read_text()
    for told in (f"Blocks {IDLE} ", f"{plan.whole.loss:.3f}", f"{point.left_out.loss:.3f}"):
        assert told in card
    recipe = (folder / "mergekit.yml").read_text()
    ranges = re.findall(r"layer_range: (.*)", recipe)
    assert [json.loads(found) for found in ranges] == [[0, 1], [2, 4]]
    assert [path.name for path in tmp_path.iterdir()] == ["short"]


def test_nothing_is_saved_that_has_another_loss(plan, tmp_path, monkeypatch):
    held_out_loss = saving.held_out_loss
    monkeypatch.setattr(saving, "held_out_loss", lambda *args: held_out_loss(*args) + 2e-5)
    with pytest.raises(ComputeError, match="saved"):
        plan.save(tmp_path / "short", "kl", 1)
    assert not list(tmp_path.iterdir())


def test_pruning_leaves_the_model_as_it_was_and_keeps_its_precision(tmp_path):
    """By texts of a file, and with progress that ends where it said."""
    told, file = [], tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS))
    tiny.model("llama").to(torch.bfloat16).save_pretrained(tmp_path / "half")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "half", dtype=torch.bfloat16)
    before = deepcopy(model.state_dict())
    made = pruned(model, file, by="last", remove=1, progress=lambda *at: told.append(at))
    assert made.ranked_on == tuple(TEXTS[::3])
    assert [at[:2] for at in told] == [(done, len(told)) for done in range(1, len(told) + 1)]
    folder = made.save(tmp_path / "short", "last", 1)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
    assert model.config.num_hidden_layers == 4
    after = model.state_dict()
    assert [name for name, weight in before.items() if not torch.equal(weight, after[name])] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny.CAUSAL)
def test_families_are_saved_without_a_block(family, tmp_path):
    folder = pruned(tiny.model(family), by="last", remove=1).save(tmp_path / "short", "last", 1)
    config = json.loads((folder / "config.json").read_text())
    assert not any(isinstance(value, list) and len(value) == 4 for value in config.values())
