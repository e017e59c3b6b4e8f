"""Blocks ranked, judged and left out: planted models, and saved ones read by transformers alone."""

import json
import os
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import tiny
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from coupling_core import ComputeError, InputError, measure, prune
from coupling_core.engine.edits.shorter import text_loss
from coupling_core.experiments.pruning import saving

TEXTS = [
    "The cat sat on the mat because it was tired",
    "and the dog lay down beside it",
    "the mat was on the cat",
    "it was the dog",
    "beside the mat it sat down",
    "the tired dog sat on the cat",
    "because the cat lay on it",
]
NAMED = ("influence", "angle", "kl", "last")
"""Rankings of the planted model: a block that does nothing has no Jacobian to be coupled by."""
IDLE = 2
"""The block of the planted model that does nothing."""


def planted(family="llama", idle=IDLE):
    """A model one of whose blocks passes its input on."""
    model = tiny.model(family)
    block = model.model.layers[idle - 1]
    block.self_attn.o_proj.weight.zero_()
    block.mlp.down_proj.weight.zero_()
    return model


def pruned(model, **options):
    return prune(model, TEXTS, tokenizer=tiny.tokenizer(), **options)


@pytest.fixture(scope="module")
def plan():
    return pruned(planted(), by=(*NAMED, "random"), remove=(1, 2))


def test_one_text_is_no_list_of_texts():
    with pytest.raises(InputError, match="the one text 'one text' came"):
        prune("toy", "one text")


def plain_loss(model, texts):
    """Loss a token, as a model of transformers is called."""
    words, total, count = tiny.tokenizer(), 0.0, 0
    for text in texts:
        ids = torch.tensor([words(text)["input_ids"]])
        total += text_loss(model, ids)
        count += ids.shape[1] - 1
    return total / count


def with_layers(model, layers):
    """The same model with other blocks, one after the other."""
    other = deepcopy(model)
    other.model.layers = nn.ModuleList([other.model.layers[block - 1] for block in layers])
    return other


@pytest.mark.parametrize("by", ["kl", "influence"])
def test_a_block_that_does_nothing_goes_first_and_costs_nothing(plan, by):
    point = plan.point(by, 1)
    assert point.blocks == (IDLE,)
    assert point.left_out.loss == pytest.approx(plan.whole.loss, abs=1e-7)
    assert plan.by_block[by][IDLE - 1] == pytest.approx(0, abs=1e-7)
    assert point.beats == sum(
        sum(cut.loss) > sum(plan.own_loss) + 1e-5
        for cut in plan.cuts
        if cut.by == "random" and len(cut.blocks) == 1
    )


def test_a_state_that_does_not_turn_is_found_by_its_angle(plan):
    assert plan.point("angle", 1).blocks == (IDLE,)
    first, second = plan.point("angle", 2).blocks
    assert second == first + 1


def test_every_set_costs_what_the_model_without_it_does(plan):
    model = planted()
    assert plan.whole.loss == pytest.approx(plain_loss(model, plan.judged_on), abs=1e-6)
    for point in plan.curve:
        if point.by == "random":
            continue
        kept = [block for block in range(1, 5) if block not in point.blocks]
        other = with_layers(model, kept)
        assert point.left_out.loss == pytest.approx(plain_loss(other, plan.judged_on), abs=1e-5)
        nearest = [min(kept, key=lambda b, s=slot: (abs(b - s), b)) for slot in range(1, 5)]
        other = with_layers(model, nearest)
        assert point.tied.loss == pytest.approx(plain_loss(other, plan.judged_on), abs=1e-5)


def test_greedy_removal_measures_anew_after_each_block(plan):
    """The second block is the one that costs least once the first is gone."""
    model, words = planted(), tiny.tokenizer()
    cost = {}
    for block in (1, 3, 4):
        other = with_layers(model, [b for b in range(1, 5) if b not in (IDLE, block)])
        total = count = 0
        for text in plan.ranked_on:
            ids = torch.tensor([words(text)["input_ids"]])
            with torch.no_grad():
                p, q = (
                    m(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
                    for m in (model, other)
                )
            total += float((p.exp() * (p - q)).sum())
            count += len(ids[0])
        cost[block] = total / count
    cheapest = min(cost, key=cost.get)
    assert plan.point("kl", 2).blocks == tuple(sorted((IDLE, cheapest)))


def test_the_most_coupled_with_its_neighbours_goes_first(tmp_path):
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


def test_texts_that_rank_do_not_judge(plan):
    assert plan.ranked_on == tuple(TEXTS[::3])
    assert not set(plan.ranked_on) & set(plan.judged_on)
    assert set(plan.ranked_on) | set(plan.judged_on) == set(TEXTS)


def test_random_sets_are_nested_and_there_are_twenty(plan):
    drawn = [cut for cut in plan.cuts if cut.by == "random"]
    assert len(drawn) == 40
    one, two = ([c.blocks for c in drawn if len(c.blocks) == n] for n in (1, 2))
    assert all(set(fewer) < set(more) for fewer, more in zip(one, two, strict=True))


def test_megabytes_are_those_of_the_blocks(plan):
    block = sum(p.numel() for p in planted().model.layers[0].parameters())
    assert plan.megabytes((1, 3)) == pytest.approx(8 * block / 1e6)


def test_progress_ends_where_it_said():
    told = []
    pruned(
        planted(), by=("kl", "influence"), remove=2, progress=lambda *so_far: told.append(so_far)
    )
    assert [done for done, _, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, total, _ in told} == {len(told)}


def test_a_plan_is_drawn_with_every_ranking(plan, tmp_path):
    drawn = plan.plot()
    names = {trace.uid for trace in drawn.figure.data if trace.uid}
    assert names == {*NAMED, "random"}
    (line,) = (trace for trace in drawn.figure.data if trace.uid == "kl")
    assert list(line.y) == [plan.point("kl", n).left_out.loss for n in (1, 2)]
    assert "drawn at random" in drawn.caption
    assert drawn.save(tmp_path / "plan.html").stat().st_size > 10_000


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


def test_saved_models_have_the_promised_loss_in_a_fresh_process(plan, tmp_path):
    """One of a plain family, and one whose config lists the kind of every block."""
    plans = {"llama": (plan, "kl", 2)}
    plans["gemma3"] = (pruned(tiny.model("gemma3"), by="last", remove=1), "last", 1)
    for name, (made, by, count) in plans.items():
        assert made.save(tmp_path / name, by, count) == tmp_path / name
    apart = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    folders = [str(tmp_path / name) for name in plans]
    done = subprocess.run(
        [sys.executable, "-c", FRESH, *folders],
        input=json.dumps(plan.judged_on),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=apart,
        check=True,
    )
    for line, (made, by, count) in zip(done.stdout.splitlines(), plans.values(), strict=True):
        loss, same, blocks = json.loads(line)
        assert loss == pytest.approx(made.point(by, count).left_out.loss, abs=1e-5)
        assert same
        assert blocks == 4 - count


def test_a_saved_folder_says_how_it_was_made(plan, tmp_path):
    folder = plan.save(tmp_path / "short", "influence", 1)
    card = (folder / "README.md").read_text()
    point = plan.point("influence", 1)
    assert f"Blocks {IDLE} (counted from 1)" in card
    assert f"{plan.whole.loss:.3f}" in card
    assert f"{point.left_out.loss:.3f}" in card
    assert "influence" in card
    recipe = (folder / "mergekit.yml").read_text()
    ranges = [line.split(": ")[1] for line in recipe.splitlines() if "layer_range" in line]
    assert [json.loads(found) for found in ranges] == [[0, 1], [2, 4]]
    assert "merge_method: passthrough" in recipe
    assert [path.name for path in tmp_path.iterdir()] == ["short"]


def test_a_folder_that_is_not_empty_is_left_alone(plan, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        plan.save(tmp_path, "kl", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(InputError, match="is no folder"):
        plan.save(tmp_path / "mine.txt", "kl", 1)
    with pytest.raises(InputError, match="there is no folder"):
        plan.save(tmp_path / "no" / "where", "kl", 1)
    (tmp_path / "empty").mkdir()
    plan.save(tmp_path / "empty", "kl", 1)
    assert (tmp_path / "empty" / "model.safetensors").is_file()


def test_nothing_is_saved_that_has_another_loss(plan, tmp_path, monkeypatch):
    held_out_loss = saving.held_out_loss
    monkeypatch.setattr(saving, "held_out_loss", lambda *args: held_out_loss(*args) + 2e-5)
    with pytest.raises(ComputeError, match="nothing was saved"):
        plan.save(tmp_path / "short", "kl", 1)
    assert not list(tmp_path.iterdir())


def test_pruning_leaves_the_model_as_it_was(tmp_path):
    model = planted()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    made = pruned(model, by="kl", remove=1)
    made.save(tmp_path / "short", "kl", 1)
    assert model.config.num_hidden_layers == 4
    after = model.state_dict()
    assert all(torch.equal(weight, after[name]) for name, weight in before.items())


def test_weights_in_half_precision_are_saved_so(tmp_path):
    tiny.model("llama").to(torch.bfloat16).save_pretrained(tmp_path / "half")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "half", dtype=torch.bfloat16)
    made = pruned(model, by="last", remove=1)
    folder = made.save(tmp_path / "short", "last", 1)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"


REFUSED = {
    "t5": "encoder",
    "bart": "encoder",
    "bert": "no causal language model",
    "roberta": "no causal language model",
    "distilbert": "no causal language model",
    "electra": "no causal language model",
    "albert": "",
    "swin": "",
}
"""Families of which no shorter causal model can be made, and a word of the reason."""


@pytest.mark.parametrize(
    "family",
    [
        name
        if name in (*tiny.SHORT, "gpt_neo", "gemma2", "phi")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in tiny.CAUSAL
    ],
)
def test_families_are_saved_without_a_block(family, tmp_path):
    made = pruned(tiny.model(family), by="kl", remove=1)
    folder = made.save(tmp_path / "short", "kl", 1)
    assert (folder / "README.md").is_file()
    config = json.loads((folder / "config.json").read_text())
    assert not any(isinstance(value, list) and len(value) == 4 for value in config.values())


@pytest.mark.parametrize("family", REFUSED)
def test_families_that_cannot_be_cut_are_refused_with_the_reason(family):
    with pytest.raises(InputError, match=REFUSED[family]):
        pruned(tiny.model(family), by="last", remove=1)


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (TEXTS[:5], {}, "at least 6"),
        ([TEXTS[0]] * 9, {}, "1 different"),
        ([TEXTS[0], "t", *TEXTS[1:]], {}, "the text .t.: a text of one token"),
        ("a text", {}, "list of texts"),
        (TEXTS, {"remove": 4}, "at least one has to stay"),
        (TEXTS, {"remove": ()}, "1 or more"),
        (TEXTS, {"by": ()}, "rankings are"),
    ],
)
def test_wrong_input_is_said(texts, options, words):
    said = {"by": "last", "remove": 1} | options
    with pytest.raises(InputError, match=words):
        prune(tiny.model("llama"), texts, tokenizer=tiny.tokenizer(), **said)


def test_random_sets_are_not_saved(plan, tmp_path):
    with pytest.raises(InputError, match="several sets"):
        plan.save(tmp_path / "short", "random", 1)


def test_blocks_that_give_no_finite_numbers_are_told_with_their_set():
    model = tiny.model("llama")
    model.model.layers[2].mlp.down_proj.weight.mul_(np.inf)
    with pytest.raises((ComputeError, InputError)):
        pruned(model, by="last", remove=1)


def test_texts_may_stand_in_a_file(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS))
    said = {"by": "last", "remove": 1, "tokenizer": tiny.tokenizer()}
    model = tiny.model("llama")
    assert prune(model, file, **said).judged_on == prune(model, TEXTS, **said).judged_on
