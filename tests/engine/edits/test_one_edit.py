"""One edit by itself: its effect is that of the maps, and a continuation is the model's own."""

import pytest
import tiny
import torch

from coupling_core.base.edits import Edit, parse_edit
from coupling_core.base.errors import ComputeError
from coupling_core.engine import reference
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.edits.one_edit import continued, effect_of
from coupling_core.engine.loading import as_loaded

IDS = [5, 17, 200, 31, 8, 99, 42]


@pytest.mark.parametrize(
    ("family", "edit"),
    [
        ("llama", "interchange(1,3)"),
        ("gpt2", "none"),
        pytest.param("gpt2", "replace(2,4)", marks=pytest.mark.full),
        pytest.param("mamba", "skip(2)", marks=pytest.mark.full),
    ],
)
def test_a_continuation_is_that_of_generate(family, edit):
    model = tiny.model(family)
    model.generation_config.eos_token_id = None
    found = continued(as_loaded(model, None), IDS, parse_edit(edit), 6)
    ids = torch.tensor([IDS])
    with edited(model, edit):
        expected = model.generate(ids, do_sample=False, max_new_tokens=6, use_cache=False)
        logits = model(ids).logits[0, -1]
    assert list(found.continuation) == expected[0, len(IDS) :].tolist()
    assert found.likeliest[0] == found.continuation[0]
    assert found.probabilities[0] == pytest.approx(float(logits.softmax(-1).max()), rel=1e-4)
    assert list(found.probabilities) == sorted(found.probabilities, reverse=True)


def test_it_ends_where_the_text_does():
    model = tiny.model("llama")
    model.generation_config.eos_token_id = None
    first = continued(as_loaded(model, None), IDS, Edit(), 3).continuation[0]
    model.generation_config.eos_token_id = first
    assert continued(as_loaded(model, None), IDS, Edit(), 3).continuation == (first,)


@pytest.mark.parametrize("edit", ["reverse(1-3)", "parallel(2-3)", "interchange(3,1)"])
def test_the_effect_is_that_of_the_edited_model(edit):
    model = tiny.model("llama")
    stored, found, measured = effect_of(as_loaded(model, None), IDS, parse_edit(edit))
    ids = torch.tensor([IDS])
    with torch.no_grad():
        own = model(ids).logits[0]
        with edited(model, edit):
            other = model(ids).logits[0]
    assert measured == "tokens"
    assert stored == parse_edit(edit).of(4)
    torch.testing.assert_close(
        found.divergence, reference.divergence(own, other), rtol=1e-4, atol=1e-9
    )


def test_numbers_that_are_none_are_told():
    model = tiny.model("llama")
    handle = model.model.layers[1].register_forward_hook(
        lambda _, args, output: output * torch.nan if not torch.equal(args[0], own[0]) else output
    )
    own = []
    watch = model.model.layers[1].register_forward_pre_hook(lambda _, args: own.append(args[0]))
    with pytest.raises(ComputeError, match=r"skip\(1\)"):
        continued(as_loaded(model, None), IDS, Edit("skip", (1,)), 3)
    handle.remove()
    watch.remove()
