"""A model that is named, as a module of one's own: the same numbers, and nobody else's weights."""

import numpy as np
import torch

from coupling_core import ablate, load_model, measure, steer

TEXT = "a b c a"


def test_it_is_measured_as_by_its_name_and_taken_by_one_call_after_another(folder):
    module, tokenizer = load_model(folder)
    asked = {"kind": "directions", "store": None}
    named = measure(TEXT, model=folder, **asked)
    found = measure(TEXT, model=module, tokenizer=tokenizer, **asked)
    np.testing.assert_array_equal(found.u, named.u)
    own = {"model": module, "tokenizer": tokenizer}
    steered = steer(found, block=1, **own)
    np.testing.assert_array_equal(steered.divergence, steer(named, block=1).divergence)
    assert ablate(found, k=2, **own).divergence == ablate(named, k=2).divergence


def test_what_is_done_to_it_is_done_to_no_other(folder):
    first, second = (load_model(folder, progress=False)[0] for _ in range(2))
    before = measure(TEXT, model=folder, k=4, store=None).singular_values
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.mul_(0.5)
    assert not torch.equal(next(first.parameters()), next(second.parameters()))
    after = measure(TEXT, model=folder, k=4, store=None).singular_values
    np.testing.assert_array_equal(after, before)


def test_it_is_the_model_that_is_asked_for(folder):
    own = next(load_model(folder)[0].parameters())
    twin = next(load_model(folder, untrained=0)[0].parameters())
    rounded = next(load_model(folder, dtype=torch.bfloat16)[0].parameters())
    assert not torch.equal(own, twin)
    assert not torch.equal(own, rounded)
    torch.testing.assert_close(own, rounded, rtol=1e-2, atol=1e-2)
    assert rounded.dtype == torch.float32
