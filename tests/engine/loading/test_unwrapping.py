"""What other libraries wrap round a model: the model inside is measured, to the bit.

nnsight and TransformerLens are in no lock file: their slow tests run where they are installed.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import by_hand
import numpy as np
import pytest
import tiny
import torch
from torch import nn

import coupling_core as cc
from coupling_core import InputError, Request, Store
from coupling_core.engine.loading.unwrapping import carried_tokenizer

IDS = (5, 17, 42, 9)
REQUEST = Request(IDS, k=4)


@pytest.fixture(scope="module")
def plain() -> Any:
    return cc.measure(REQUEST, model=tiny.model("llama"))


@pytest.fixture
def alone() -> Iterator[None]:
    """A group of one process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def compiled(model: Any) -> Any:
    made = torch.compile(model, backend="eager")
    made(input_ids=torch.tensor([IDS]))  # it is compiled at its first call
    return made


def compiled_forward(model: Any) -> Any:
    model.forward = torch.compile(model.forward, backend="eager")
    return model


WRAPPERS = {
    "compiled": compiled,
    "forward compiled": compiled_forward,
    "DataParallel": nn.DataParallel,
    "both": lambda model: nn.DataParallel(compiled(model)),
}


@pytest.mark.parametrize(
    "wrapper",
    [pytest.param(w, marks=() if w == "DataParallel" else pytest.mark.full) for w in WRAPPERS],
)
def test_numbers_are_those_of_the_model_inside(wrapper, plain):
    found = cc.measure(REQUEST, model=WRAPPERS[wrapper](tiny.model("llama")))
    assert found.request.model == plain.request.model
    assert np.array_equal(found.singular_values, plain.singular_values)
    assert np.array_equal(found.diagonal[..., :4], plain.diagonal[..., :4])


@pytest.mark.full
def test_compiled_blocks_in_the_place_of_blocks_are_measured(plain):
    model = tiny.model("llama")
    for at, layer in enumerate(model.model.layers):
        model.model.layers[at] = torch.compile(layer, backend="eager")
    found = cc.measure(REQUEST, model=model)
    assert found.singular_values == pytest.approx(plain.singular_values, rel=1e-4, abs=1e-5)


@pytest.mark.full
def test_a_compiled_model_is_compiled_still_once_it_was_measured():
    compilations = []

    def backend(graph: Any, example: Any) -> Any:
        compilations.append(graph)
        return graph.forward

    gpt = by_hand.GPT().eval()
    model = torch.compile(gpt, backend=backend)
    cc.measure(REQUEST, model=cc.wrap(model, blocks=model.blocks))
    assert not compilations
    model(torch.tensor([IDS]))
    assert compilations


@pytest.mark.full
def test_distributed_data_parallel_is_unwrapped(alone, plain):
    model = tiny.model("llama").requires_grad_(True)
    model = nn.parallel.DistributedDataParallel(model)
    found = cc.measure(REQUEST, model=model)
    assert np.array_equal(found.singular_values, plain.singular_values)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_a_wrapped_one_has_the_key_of_the_model_inside(tmp_path):
    store = Store(tmp_path / "results", gallery=tmp_path / "none")
    first = cc.measure(REQUEST, store, model=tiny.model("llama"))
    again = cc.measure(REQUEST, store, model=nn.DataParallel(tiny.model("llama")))
    assert first.key, first.provenance["not_stored"]
    assert again.key == first.key
    assert len(store.entries()) == 1


def test_a_module_by_hand_may_be_wrapped_inside_and_outside():
    gpt = by_hand.GPT().eval()
    plain = cc.measure(REQUEST, model=cc.wrap(gpt, blocks=gpt.blocks))
    inside = cc.wrap(nn.DataParallel(gpt), blocks=gpt.blocks)
    assert np.array_equal(cc.measure(REQUEST, model=inside).diagonal, plain.diagonal)
    outside = nn.DataParallel(cc.wrap(gpt, blocks=gpt.blocks))
    assert np.array_equal(cc.measure(REQUEST, model=outside).diagonal, plain.diagonal)


# PEFT


def adapted(model: Any, targets: list[str]) -> Any:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    model = get_peft_model(model, LoraConfig(r=2, target_modules=targets))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            nn.init.constant_(parameter, 0.3)
    return model


@pytest.mark.full
def test_an_adapter_round_a_module_by_hand_is_measured():
    gpt = by_hand.GPT().eval()
    plain = cc.measure(REQUEST, model=cc.wrap(gpt, blocks=gpt.blocks))
    model = adapted(gpt, ["qkv"]).eval()
    blocks = model.base_model.model.blocks
    found = cc.measure(REQUEST, model=cc.wrap(model, blocks=blocks))
    assert not np.allclose(found.singular_values, plain.singular_values, rtol=1e-2)
    merged = model.merge_and_unload()
    expected = cc.measure(REQUEST, model=cc.wrap(merged, blocks=merged.blocks))
    assert found.singular_values == pytest.approx(expected.singular_values, rel=1e-4, abs=1e-5)


# nnsight and TransformerLens


@pytest.mark.slow
def test_a_language_model_of_nnsight_is_measured(plain, tmp_path):
    nnsight = pytest.importorskip("nnsight")
    model = nnsight.LanguageModel(tiny.model("llama"), tokenizer=tiny.tokenizer())
    found = cc.measure(REQUEST, model=model)
    assert np.array_equal(found.singular_values, plain.singular_values)
    text = cc.measure(Request("The cat", k=4), model=model)  # it has a tokenizer of its own
    assert "".join(text.tokens) == "The cat"
    gpt = by_hand.GPT().eval()
    inside = cc.measure(REQUEST, model=cc.wrap(gpt, blocks=gpt.blocks))
    found = cc.measure(REQUEST, model=cc.wrap(nnsight.NNsight(gpt), blocks=gpt.blocks))
    assert np.array_equal(found.diagonal, inside.diagonal)
    folder = tiny.folder(tmp_path / "llama")
    with pytest.raises(InputError, match="dispatch=True"):  # it has no weights yet
        cc.measure(REQUEST, model=nnsight.LanguageModel(str(folder), tokenizer=tiny.tokenizer()))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox"])
def test_a_bridge_of_transformer_lens_is_measured(family):
    """It computes anew what transformers does, so that the numbers agree to rounding."""
    pytest.importorskip("transformer_lens")
    bridge = importlib.import_module("transformer_lens.model_bridge.bridge").TransformerBridge
    model = tiny.bridged(bridge, family)
    assert carried_tokenizer(model) is model.tokenizer
    expected = cc.measure(REQUEST, model=tiny.model(family)).singular_values
    found = cc.measure(REQUEST, model=model)
    assert found.singular_values == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert cc.measure(Request("The cat", k=4), model=model).certified


def test_parts_of_a_module_are_unwrapped_too():
    class Envoy:
        """Stands for that of nnsight, which has one round every part of a model."""

        def __init__(self, module: nn.Module) -> None:
            self._module = module

    Envoy.__module__ = "nnsight.intervention.envoy"
    gpt = by_hand.GPT().eval()
    plain = cc.measure(REQUEST, model=cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f))
    parts = {"blocks": Envoy(gpt.blocks), "final_norm": Envoy(gpt.ln_f)}
    found = cc.measure(REQUEST, model=cc.wrap(Envoy(gpt), **parts))
    assert np.array_equal(found.diagonal, plain.diagonal)
