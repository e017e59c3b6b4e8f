"""A model under an edit, against the same model built anew, and against itself."""

from contextlib import suppress

import pytest
import tiny
import torch

from coupling_core.base.edits import Edit, parse_edit
from coupling_core.engine import reference
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.edits.one_edit import continued, effect_of
from coupling_core.engine.loading import as_loaded, find_blocks

IDS = torch.tensor([[5, 17, 200, 31, 8, 99, 42]])
EDITS = (
    "skip(2)", "repeat(3)", "replace(1,4)", "replace(4,2)", "interchange(1,2)", "interchange(2,4)",
    "damp(3,0.5)", "damp(2,2)", "reverse(1-4)", "none", "parallel(2-3)",
)  # fmt: skip
IDENTITIES = ("none", "damp(2,1)", "replace(3,3)")
TIERS = [
    pytest.param(family, marks=marks)
    for families, marks in (
        (("llama", "gpt2", "gemma3"), ()),
        (("bert", "gemma2"), pytest.mark.full),
        (("gpt_neo", "falcon_rw", "mpt", "bloom", "openai_gpt", "mixtral"), pytest.mark.slow),
    )
    for family in families
]


def logits(model, ids=IDS):
    more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model(input_ids=ids, **more).logits


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("family", TIERS[:6])
def test_it_is_the_model_with_its_blocks_in_the_new_order(family):
    model = tiny.model(family)
    # Blocks of two kinds, side by side, would both be handed the mask of the one.
    for edit in EDITS[:-1] if family == "gemma2" else EDITS:
        with edited(model, edit):
            found = logits(model)
        built = reference.edited_model(model, parse_edit(edit))
        torch.testing.assert_close(found, logits(built), rtol=1e-5, atol=1e-5, msg=edit)


@pytest.mark.parametrize(
    "family", [*TIERS, *(pytest.param(f, marks=pytest.mark.full) for f in ("mamba", "t5"))]
)
def test_what_changes_nothing_changes_no_bit_and_the_model_is_as_it_was(family):
    model = tiny.model(family)
    before, own = weights(model), logits(model)
    for edit in IDENTITIES:
        with edited(model, edit):
            assert torch.equal(logits(model), own), edit
    with edited(model, "damp(2,0)"):
        damped = logits(model)
    with edited(model, "skip(2)"):
        assert torch.equal(logits(model), damped)
    assert not torch.equal(damped, own)
    with suppress(KeyError), edited(model, "interchange(1,2)"):
        assert not torch.equal(logits(model), own)
        raise KeyError
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(logits(model), own)
    assert "forward" not in vars(model)
    assert not any(block._forward_pre_hooks for block in find_blocks(model))


def test_several_edits_are_made_at_once():
    model = tiny.model("llama")
    with edited(model, ["skip(1)", Edit("damp", (3,), 0.5)]):
        both = logits(model)
    built = reference.edited_model(model, parse_edit("skip(1)"))
    with edited(built, "damp(2,0.5)"):  # of the three blocks that are left
        torch.testing.assert_close(both, logits(built))
    with edited(model, "damp(3,0.5)"):
        assert not torch.allclose(both, logits(model))


def test_an_encoder_is_edited_beside_its_decoder():
    model = tiny.model("t5")
    own = logits(model)
    with edited(model, "skip(2)", stack="encoder"):
        found = logits(model)
    built = reference.edited_model(model, parse_edit("skip(2)"), stack="encoder")
    torch.testing.assert_close(found, logits(built))
    assert not torch.allclose(found, own)


# --- one edit by itself


@pytest.mark.parametrize(
    ("family", "edit"),
    [("llama", "interchange(1,3)"), ("gpt2", "none"), ("mamba", "skip(2)")],
)
def test_a_continuation_is_that_of_generate(family, edit):
    model = tiny.model(family)
    model.generation_config.eos_token_id = None
    found = continued(as_loaded(model, None), IDS[0].tolist(), parse_edit(edit), 6)
    with edited(model, edit):
        expected = model.generate(IDS, do_sample=False, max_new_tokens=6, use_cache=False)
        logits = model(IDS).logits[0, -1]
    assert list(found.continuation) == expected[0, IDS.shape[1] :].tolist()
    assert found.likeliest[0] == found.continuation[0]
    assert found.probabilities[0] == pytest.approx(float(logits.softmax(-1).max()), rel=1e-4)
    assert list(found.probabilities) == sorted(found.probabilities, reverse=True)


def test_it_ends_where_the_text_does():
    model = tiny.model("llama")
    model.generation_config.eos_token_id = None
    first = continued(as_loaded(model, None), IDS[0].tolist(), Edit(), 3).continuation[0]
    model.generation_config.eos_token_id = first
    assert continued(as_loaded(model, None), IDS[0].tolist(), Edit(), 3).continuation == (first,)


@pytest.mark.parametrize("edit", ["reverse(1-3)", "parallel(2-3)"])
def test_the_effect_is_that_of_the_edited_model(edit):
    model = tiny.model("llama")
    stored, found, measured = effect_of(as_loaded(model, None), IDS[0].tolist(), parse_edit(edit))
    with torch.no_grad():
        own = model(IDS).logits[0]
        with edited(model, edit):
            other = model(IDS).logits[0]
    assert measured == "tokens"
    assert stored == parse_edit(edit).of(4)
    expected = reference.divergence(own, other)
    torch.testing.assert_close(found.divergence, expected, rtol=1e-4, atol=1e-9)
