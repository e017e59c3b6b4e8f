"""A model that is named, as a module of one's own: the same numbers, and nobody else's weights."""

import numpy as np
import pytest
import tiny
import torch

from coupling_core import ablate, load_model, measure, steer

TEXT = "a b c a"


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("models") / "llama")


def test_it_is_measured_as_by_its_name_and_taken_by_one_call_after_another(where):
    module, tokenizer = load_model(where)
    asked = {"kind": "directions", "store": None}
    named = measure(TEXT, model=where, **asked)
    found = measure(TEXT, model=module, tokenizer=tokenizer, **asked)
    np.testing.assert_array_equal(found.u, named.u)
    own = {"model": module, "tokenizer": tokenizer}
    steered = steer(found, block=1, **own)
    np.testing.assert_array_equal(steered.divergence, steer(named, block=1).divergence)
    assert ablate(found, k=2, **own).divergence == ablate(named, k=2).divergence


def test_what_is_done_to_it_is_done_to_no_other(where):
    first, second = (load_model(where, progress=False)[0] for _ in range(2))
    before = measure(TEXT, model=where, k=4, store=None).singular_values
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.mul_(0.5)
    assert not torch.equal(next(first.parameters()), next(second.parameters()))
    after = measure(TEXT, model=where, k=4, store=None).singular_values
    np.testing.assert_array_equal(after, before)


def test_it_is_the_model_that_is_asked_for(where):
    own = next(load_model(where)[0].parameters())
    twin = next(load_model(where, untrained=0)[0].parameters())
    rounded = next(load_model(where, dtype=torch.bfloat16)[0].parameters())
    assert not torch.equal(own, twin)
    assert not torch.equal(own, rounded)
    torch.testing.assert_close(own, rounded, rtol=1e-2, atol=1e-2)
    assert rounded.dtype == torch.float32
