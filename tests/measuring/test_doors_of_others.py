"""Models in TransformerLens' bridge and in nnsight, with what these do to them."""

import importlib

import by_hand
import doors
import numpy as np
import pytest
import tiny
import torch
from doors import IDS, PROMPTS, bridge, bridged, of_nnsight

import coupling_core as cc

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("made", [bridged, of_nnsight, doors.adapted])
def test_every_line_of_a_notebook_runs(made, tmp_path):
    doors.goes_through(made, tmp_path)


def test_what_ran_through_a_bridge_before_is_no_part_of_its_key(tmp_path):
    model, prompts, _ = bridged()
    store = cc.Store(tmp_path / "store")

    def key():
        return cc.measure(prompts[0], model=model, k=4, store=store).key

    first = key()
    cc.measure("another prompt that is longer", model=model, k=4, store=store)
    assert key() == first
    ids = torch.tensor([[3, 1, 4, 1]])
    model.run_with_cache(ids)
    assert key() == first
    model.add_hook(list(model.hook_dict)[3], doubled)
    assert not key()  # code of one's own
    model.reset_hooks()
    assert key() == first


@pytest.mark.parametrize("first", [True, False])
def test_a_text_is_read_as_the_bridge_reads_it(first):
    model, prompts, _ = bridged()
    model.cfg.default_prepend_bos = first
    found = cc.measure(prompts[0], model=model, kind="trajectory", store=None)
    ids = model.to_tokens(prompts[0])[0].tolist()
    assert found.token_ids.tolist() == ids
    assert (ids[0] == 7) == first
    given = cc.measure(
        prompts[0], model=model, tokenizer=model.tokenizer, kind="trajectory", store=None
    )
    assert given.token_ids.tolist() == model.tokenizer(prompts[0])["input_ids"]


def test_a_hook_that_detaches_is_named():
    model, prompts, _ = bridged()
    model.add_hook("blocks.1.hook_out", detached)
    with pytest.raises(cc.ComputeError, match=r"No derivative goes .*detach.*detached"):
        cc.measure(prompts[0], model=model, k=4, store=None)


def test_what_nnsight_does_in_traces_is_refused_and_not_left_out():
    model, prompts, _ = of_nnsight()
    with pytest.raises(cc.InputError, match="before or after"), model.trace(prompts[0]):
        cc.measure(prompts[0], model=model, k=4, store=None)
    with model.edit(inplace=True):
        model.model.layers[0].output[0][:] = 0
    for part in (model, model.model, model._module):
        with pytest.raises(cc.InputError, match="1 edit"):
            cc.measure((3, 1, 4), model=part, k=4, store=None)
    model.clear_edits()
    assert cc.measure(prompts[0], model=model, k=4, store=None).certified


def test_a_model_in_nnsight_has_the_key_that_it_has_alone(tmp_path):
    nnsight = importlib.import_module("nnsight")
    store, plain = cc.Store(tmp_path / "store"), tiny.model("gpt2")
    alone = cc.measure(PROMPTS[0], model=plain, tokenizer=tiny.tokenizer(), k=4, store=store)
    model = nnsight.LanguageModel(plain, tokenizer=tiny.tokenizer())
    assert cc.measure(PROMPTS[0], model=model, k=4, store=store).key == alone.key
    with model.trace(PROMPTS[0]):  # which makes what runs anew, to lend what is inside
        model.transformer.h[1].attn.source.attention_interface_0.output.save()
    assert cc.measure(PROMPTS[0], model=model, k=4, store=store).key == alone.key
    again = cc.measure(PROMPTS[0], model=model, k=4, store=None)
    assert np.array_equal(again.diagonal, alone.diagonal)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_what_a_hook_makes_of_the_final_norm_is_in_the_last_block(family):
    """A bridge's norm runs the model's own inside: what hooks make of it comes behind that."""
    model = tiny.bridged(bridge(), family)
    before = cc.jacobian(model, (3, 1, 4), block=4, k=4)
    rest = cc.jacobian(model, (3, 1, 4), block=3, k=4)
    model.add_hook("ln_final.hook_out", doubled)
    after = cc.jacobian(model, (3, 1, 4), block=4, k=4)
    unit = np.eye(len(before.J))  # the map is 2 norm(F(x)) - x
    assert after.J == pytest.approx(2 * (before.J + unit) - unit, abs=1e-4)
    assert np.array_equal(cc.jacobian(model, (3, 1, 4), block=3, k=4).J, rest.J)


def test_a_module_that_was_wrapped_before_an_edit_is_refused_too():
    nnsight = importlib.import_module("nnsight")
    gpt = by_hand.GPT().eval()
    model = nnsight.NNsight(gpt)
    wrapped = cc.wrap(model, blocks=gpt.blocks, forward=lambda g, ids: g(ids))
    assert cc.measure((3, 1, 4), model=wrapped, k=4, store=None).certified
    with model.edit(inplace=True):
        model.blocks[0].output[:] = 0
    with pytest.raises(cc.InputError, match="1 edit of this model"):
        cc.measure((3, 1, 4), model=wrapped, k=4, store=None)


def test_a_patched_token_is_said_to_have_no_directions():
    model, prompts, _ = bridged()
    old = torch.randn(32)

    def patched(x, hook):
        x = x.clone()
        x[:, -1] = old
        return x

    before = cc.measure(prompts[0], model=model, k=4, store=None)
    assert "all alike" not in before.verdict
    model.add_hook("blocks.1.hook_out", patched)
    found = cc.measure(prompts[0], model=model, k=4, store=None)
    j = cc.jacobian(model, prompts[0], block=2, k=4)
    assert np.array_equal(j.J, -np.eye(32, dtype=np.float32))
    for words in (found.verdict, found.plot().caption, j.verdict):
        assert "all alike" in words


def test_tables_name_the_model_inside_and_its_hooks():
    (model, prompts, _), own = bridged(), tiny.model("gpt2")
    models = [model, tiny.model("llama")]
    table = cc.measure_many(IDS, models, k=4, store=None, progress=False)
    assert table["model"].unique().tolist() == ["GPT2LMHeadModel", "LlamaForCausalLM"]
    models = {"bridge": model, "plain": own}  # a bridge keeps the joint q, k, v beside its parts
    table = cc.measure_many(IDS, models, k=4, store=None, progress=False)
    assert table["parameters"].nunique() == 1
    model.add_hook("blocks.1.hook_out", doubled)
    table = cc.measure_many(IDS, model, k=4, store=None, progress=False)
    assert table["model"].unique().tolist() == ["GPT2LMHeadModel (with a hook)"]
    named = cc.measure(prompts[0], model=model, k=4, variant="twice", store=None)
    assert named.model_name == "GPT2LMHeadModel (twice)"


def test_what_is_asked_inside_a_hook_of_the_model_says_so():
    model, prompts, _ = bridged()

    def asks(x, hook):
        cc.measure(prompts[0], model=model, k=4, store=None)
        return x

    hooks = [("blocks.1.hook_out", asks)]
    with pytest.raises(cc.ComputeError, match="asked from inside a hook of the model"):
        model.run_with_hooks(torch.tensor([[3, 1, 4]]), fwd_hooks=hooks)


def detached(x, hook):
    return x.detach() * 1


def doubled(x, hook):
    return 2 * x
