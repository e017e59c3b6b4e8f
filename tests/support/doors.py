"""Models as people have them in a notebook: each with prompts for it, and its tokenizer.

nnsight and TransformerLens are in the lock of the slow tests alone (requirements/doors.txt).
"""

import importlib

import by_hand
import numpy as np
import tiny
import torch

import coupling_core as cc

PROMPTS = ("The cat sat on the mat", "on the mat")
IDS = ((5, 17, 42, 9, 3, 8), (2, 4, 6))


def of_transformers():
    return tiny.model("llama"), PROMPTS, tiny.tokenizer()


def by_ones_own_hand():
    gpt = by_hand.GPT().eval()
    return cc.wrap(gpt, blocks=gpt.blocks, forward=lambda g, ids: g(ids)), IDS, None


def adapted():
    peft = importlib.import_module("peft")
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return peft.get_peft_model(tiny.model("llama"), config), PROMPTS, tiny.tokenizer()


def bridge():
    """TransformerLens' class."""
    return importlib.import_module("transformer_lens.model_bridge.bridge").TransformerBridge


def bridged():
    return tiny.bridged(bridge()), PROMPTS, None


def of_nnsight():
    nnsight = importlib.import_module("nnsight")
    return nnsight.LanguageModel(tiny.model("llama"), tokenizer=tiny.tokenizer()), PROMPTS, None


def goes_through(made, tmp_path):
    """Ask all that a notebook asks first of such a model."""
    model, prompts, tokenizer = made()
    result = cc.measure(prompts[0], model=model, tokenizer=tokenizer)
    assert result.certified
    scores = result.scores(k=4, blocks="1-2")
    assert set(scores.to_pandas().columns) == {"block", "basis", "coupling", "chance", "corrected"}
    assert scores.to_xarray().corrected.dims == ("block", "basis")
    assert scores.plot().save(tmp_path / "map.html").stat().st_size > 5_000
    assert result.model_name in result._repr_html_()

    store = cc.Store(tmp_path / "store")
    key = cc.measure(prompts[0], model=model, tokenizer=tokenizer, store=store).key
    assert bool(key) == (made is not by_ones_own_hand)  # whose code may be another tomorrow

    j = cc.jacobian(model, prompts[0], block=2, token=-1, k=4, tokenizer=tokenizer)
    assert np.array_equal(j.s, result.singular_values[1, :4])

    table = cc.measure_many(prompts, {"a": model, "b": model}, k=4, tokenizer=tokenizer)
    assert table["corrected"][0] == result.scores(k=4).mean().corrected
    assert cc.compare_models(table, "a", "b").difference == 0
