"""Edits of models whose weights are streamed, rounded or quantised."""

from functools import partial

import numpy as np
import pytest
import torch

from coupling_core import Request, edited
from coupling_core.engine import reference
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import in_float32, load
from coupling_core.kinds.whatif.compose import compose
from coupling_core.sources.resolved import resolve

IDS = (5, 17, 200, 31, 8, 99, 42)


@pytest.fixture(scope="module")
def ask(folder):
    return partial(Request, IDS, model=str(folder), kind="what-if")


def test_streamed_weights_give_the_same_to_the_bit(ask):
    asked = resolve(ask())
    found = []
    for streamed in (False, True):
        loaded = load(asked, "cpu", streamed=streamed)
        with in_float32(loaded.model, loaded.device):
            found.append(compose(asked, loaded, lambda _: None))
    whole, parts = found
    assert np.array_equal(whole.divergence, parts.divergence)
    assert np.array_equal(whole.exchange_true, parts.exchange_true)


@pytest.mark.parametrize("form", [{"dtype": "bfloat16"}, {"quantize": "nf4"}, {"quantize": "int8"}])
def test_of_rounded_weights_each_edit_is_what_it_is_alone(ask, form):
    asked = resolve(ask(**form))
    loaded = load(asked, "cpu")
    with in_float32(loaded.model, loaded.device):
        found = compose(asked, loaded, lambda _: None)
        run, ids = read(loaded.model, list(IDS)).runner, torch.tensor([IDS])
        own = run(ids).logits[0].detach()
        for edit in ("skip(2)", "damp(3,0.5)", "replace(1,4)", "interchange(2,3)"):
            with edited(loaded.model, edit):
                alone = reference.divergence(own, run(ids).logits[0].detach())
            together = found.divergence[found.edits.index(edit)]
            assert together == pytest.approx(alone.numpy(), rel=1e-3, abs=1e-5), edit
            assert alone.max() > 1e-3
    assert not found.refused
