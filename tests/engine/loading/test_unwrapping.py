"""What other libraries wrap round a model: the model inside is measured, to the bit.

Real nnsight and TransformerLens are in tests/measuring/test_doors_of_others.py.
"""

import by_hand
import numpy as np
import pytest
import shallow
import torch
from torch import nn

import coupling_core as cc
from coupling_core import Request, Store

IDS = (5, 17, 42, 9)
REQUEST = Request(IDS, k=4)


@pytest.fixture(scope="module")
def plain():
    return cc.measure(REQUEST, model=shallow.model("llama"))


@pytest.fixture(scope="module")
def alone():
    """A group of one process, which distributed training needs."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def compiled(model):
    made = torch.compile(model, backend="eager")
    made(input_ids=torch.tensor([IDS]))  # it is compiled at its first call
    return made


def compiled_forward(model):
    model.forward = torch.compile(model.forward, backend="eager")
    return model


WRAPPERS = {
    "DataParallel": nn.DataParallel,
    "DistributedDataParallel": nn.parallel.DistributedDataParallel,
    "forward compiled": compiled_forward,
    "both": lambda model: nn.DataParallel(compiled(model)),
}


@pytest.mark.parametrize(
    "wrapper",
    [pytest.param(w, marks=() if w == "DataParallel" else pytest.mark.full) for w in WRAPPERS],
)
def test_numbers_are_those_of_the_model_inside(wrapper, alone, plain):
    model = WRAPPERS[wrapper](shallow.model("llama").requires_grad_(True))
    found = cc.measure(REQUEST, model=model)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert found.request.model == plain.request.model
    assert np.array_equal(found.singular_values, plain.singular_values)
    assert np.array_equal(found.diagonal[..., :4], plain.diagonal[..., :4])


@pytest.mark.full
def test_compiled_blocks_in_the_place_of_blocks_are_measured(plain):
    model = shallow.model("llama")
    for at, layer in enumerate(model.model.layers):
        model.model.layers[at] = torch.compile(layer, backend="eager")
    found = cc.measure(REQUEST, model=model)
    assert found.singular_values == pytest.approx(plain.singular_values, rel=1e-4, abs=1e-5)


@pytest.mark.full
def test_a_compiled_model_is_compiled_still_once_it_was_measured():
    compilations = []

    def backend(graph, example):
        compilations.append(graph)
        return graph.forward

    model = torch.compile(by_hand.GPT().eval(), backend=backend)
    cc.measure(REQUEST, model=cc.wrap(model, blocks=model.blocks))
    assert not compilations
    model(torch.tensor([IDS]))
    assert compilations


def test_a_wrapped_one_has_the_key_of_the_model_inside(tmp_path):
    models = shallow.model("llama"), nn.DataParallel(shallow.model("llama"))
    first, again = (cc.measure(REQUEST, Store(tmp_path), model=model) for model in models)
    assert first.key, first.provenance["not_stored"]
    assert again.key == first.key


class Envoy:
    """Stands for that of nnsight, which has one round every part of a model."""

    def __init__(self, module):
        self._module = module


Envoy.__module__ = "nnsight.intervention.envoy"


def diagonal(model):
    return cc.measure(REQUEST, model=model).diagonal


def test_a_module_by_hand_may_be_wrapped_inside_and_outside_and_in_parts():
    gpt = by_hand.GPT().eval()
    plain = diagonal(cc.wrap(gpt, blocks=gpt.blocks, final_norm=gpt.ln_f))
    parts = {"blocks": Envoy(gpt.blocks), "final_norm": Envoy(gpt.ln_f)}
    for model in (
        cc.wrap(nn.DataParallel(gpt), blocks=gpt.blocks),
        nn.DataParallel(cc.wrap(gpt, blocks=gpt.blocks)),
        cc.wrap(Envoy(gpt), **parts),
    ):
        assert np.array_equal(diagonal(model), plain)
