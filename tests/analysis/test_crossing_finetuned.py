"""Low-rank updates of known blocks, trained: the directions say which blocks they are."""

from itertools import chain

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from transformers import AutoModelForCausalLM, AutoTokenizer

from coupling_core import Request, cross, measure
from coupling_core.base.folders import SWEEPS
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.sources.hub import cache
from coupling_core.sources.prompts import read_file

CHANGED = (4, 6)
RANK, EPOCHS, TEXTS = 4, 3, 60


class LowRank(nn.Module):
    """W + B A, with B = 0 at first, as LoRA has it."""

    def __init__(self, weight):
        super().__init__()
        rows, columns = weight.shape
        self.a = nn.Parameter(torch.randn(RANK, columns) / columns**0.5)
        self.b = nn.Parameter(torch.zeros(rows, RANK))

    def forward(self, weight):
        return weight + self.b @ self.a


@pytest.fixture(scope="module")
def base():
    """The last step of the smallest run that ships."""
    repo = "coupling-explorer/mini-64"
    return cache.snapshot(repo, cache.refs(repo)["step4000"])


@pytest.fixture(scope="module")
def tuned(base, tmp_path_factory):
    """The same after a minute or less of training, its updates merged into the weights."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(base)
    model.requires_grad_(False)
    linear = [
        module
        for block in CHANGED
        for module in model.gpt_neox.layers[block - 1].modules()
        if isinstance(module, nn.Linear)
    ]
    updates = [LowRank(module.weight) for module in linear]
    for module, update in zip(linear, updates, strict=True):
        parametrize.register_parametrization(module, "weight", update)
    chosen = torch.optim.Adam(chain.from_iterable(u.parameters() for u in updates), lr=2e-3)
    for prompt in read_file(SWEEPS / "prompts.jsonl")[:TEXTS] * EPOCHS:
        ids = words(prompt.text, return_tensors="pt").input_ids
        chosen.zero_grad()
        model(ids, labels=ids).loss.backward()
        chosen.step()
    for module in linear:
        parametrize.remove_parametrizations(module, "weight")
    folder = tmp_path_factory.mktemp("tuned")
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def test_the_blocks_that_were_trained_are_the_most_turned(base, tuned):
    """Those before the first are not turned at all, and those behind it by their states alone."""
    before, after = (
        measure(Request(EXAMPLES[0], model=str(folder), kind="directions"))
        for folder in (base, tuned)
    )
    found = cross(before, after)
    turned = np.median(found.angles, 2)
    assert turned[:, : CHANGED[0] - 1].max() < 0.1
    for side in turned:
        assert {*(np.argsort(side)[-len(CHANGED) :] + 1).tolist()} == {*CHANGED}
    assert turned[:, [block - 1 for block in CHANGED]].min() > 5
    assert f"most in block {int(np.argmax(turned.mean(0))) + 1} " in found.verdict
