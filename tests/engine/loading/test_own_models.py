"""Modules of one's own: a stored number is that of this very module, or there is none."""

import itertools
import logging
from contextlib import nullcontext
from dataclasses import replace

import behaviours
import numpy as np
import pytest
import shallow
import tiny
import torch
from config_mutations import FAMILIES, WAYS, outcomes
from tokenizers import normalizers

from coupling_core import CouplingError, Request, Store, measure
from coupling_core.base.records import OWN
from coupling_core.engine.loading.content import content

IDS = (5, 17, 42, 8, 99, 17, 3)
REQUEST = Request(IDS, k=8, k_view=4)
CHANGES = (*behaviours.OF_LLAMA, *behaviours.OF_ADAPTERS)
KEYED = (
    "attention_of_the_library", "activation", "parametrization_of_the_library", "constant",
    "number", "order", "switched", "both", "disabled", "scaled", "merged",
)  # fmt: skip
"""Changes that a key can tell; of the others nothing is stored."""


@pytest.fixture
def stores(tmp_path):
    return [Store(tmp_path / name, gallery=tmp_path / "none") for name in "ab"]


def model_for(change):
    return behaviours.adapted() if change in behaviours.OF_ADAPTERS else tiny.model("llama")


def numbers(model, store=None):
    """What a measurement comes to; of one that is refused, why."""
    try:
        found = measure(REQUEST, store, model=model)
    except CouplingError as error:
        return str(error)
    return np.concatenate([found.singular_values[:, :8].ravel(), found.diagonal[..., :8].ravel()])


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    return np.abs(a - b).max() <= 1e-6 * np.abs(b).max()


QUICK = (behaviours.hook, behaviours.switched)
SLOW = (pytest.param(change, marks=pytest.mark.slow) for change in CHANGES if change not in QUICK)


@pytest.mark.parametrize("change", [*QUICK, *SLOW], ids=lambda change: change.__name__)
def test_what_is_not_in_the_weights_gives_its_own_numbers(change, stores):
    model = model_for(change)
    clean = numbers(model, stores[0])
    undo = change(model)
    try:
        truth = numbers(model)
        assert same(numbers(model, stores[0]), truth)
        assert same(numbers(model, stores[1]), truth)
    finally:
        undo()
    if change is not behaviours.merged:  # which rounds, so that the weights are other ones now
        assert same(numbers(model, stores[1]), clean)
    if change not in (behaviours.attention_of_the_library, behaviours.merged):
        assert not same(clean, truth)


def test_what_can_be_told_has_a_key_of_its_own_and_what_cannot_is_told():
    for change in CHANGES:
        model = model_for(change)
        before = content(model)
        undo = change(model)
        try:
            after = content(model)
        finally:
            undo()
        assert not before.foreign
        assert bool(after.foreign) == (change.__name__ not in KEYED), change
        assert after.foreign or after.digest != before.digest, change


def test_what_is_not_stored_says_so_and_a_variant_is_stored(stores, caplog):
    model, store = tiny.model("llama"), stores[0]
    clean = measure(REQUEST, store, model=model)
    undo = behaviours.hook(model)
    with caplog.at_level(logging.WARNING):
        found = measure(REQUEST, store, model=model)
    assert found.key == ""
    assert "model.layers.2.mlp (behaviours.hook" in found.provenance["not_stored"]
    assert "variant=" in caplog.text
    named = [measure(REQUEST, store, model=model, variant=v) for v in ("mlp 3 out", "another")]
    undo()
    assert len({clean.key, *(each.key for each in named)}) == 3
    assert named[0].model_name == "LlamaForCausalLM (mlp 3 out)"
    assert np.array_equal(named[0].singular_values, found.singular_values)
    assert {entry.key for entry in store.entries()} == {clean.key, *(each.key for each in named)}


def test_hooks_that_only_watch_or_move_are_no_change(stores):
    from accelerate import dispatch_model

    model = tiny.model("llama")
    clean = measure(REQUEST, stores[0], model=model)
    model(input_ids=torch.tensor([IDS]), output_hidden_states=True)
    assert measure(REQUEST, stores[0], model=model).key == clean.key
    moved = dispatch_model(model, {"": "cpu"}, force_hooks=True)
    assert "forward" in vars(moved)
    found = measure(REQUEST, stores[0], model=moved)
    assert found.key
    assert np.array_equal(found.singular_values, clean.singular_values)
    behaviours.forward(moved)
    assert not measure(REQUEST, stores[0], model=moved).key


def test_weights_that_are_brought_as_they_are_needed_give_the_same_numbers(tmp_path, stores):
    from accelerate import cpu_offload, disk_offload
    from transformers import AutoModelForCausalLM

    folder = tiny.folder(tmp_path / "model")
    auto = {"device_map": "auto", "max_memory": {"cpu": 60_000}, "offload_folder": tmp_path / "a"}
    here, split, on_cpu, on_disk = (
        AutoModelForCausalLM.from_pretrained(folder, **given) for given in ({}, auto, {}, {})
    )
    cpu_offload(on_cpu, execution_device="cpu")
    disk_offload(on_disk, tmp_path / "b", execution_device="cpu")
    wanted = measure(REQUEST, stores[0], model=here)
    for model in (split, on_cpu, on_disk):
        assert all(parameter.is_meta for parameter in model.parameters())
        said = model(input_ids=torch.tensor([IDS])).logits
        for kind in ("depth", "directions"):
            asked = replace(REQUEST, kind=kind, k=None, k_view=None)
            found = measure(asked, stores[0], model=model)
            assert found.key
            ours = measure(asked, None, model=here).singular_values
            assert np.array_equal(found.singular_values, ours)
        assert torch.equal(model(input_ids=torch.tensor([IDS])).logits, said)
    assert measure(REQUEST, stores[0], model=on_disk).key == wanted.key


def test_a_named_model_is_not_stored_while_the_program_changes_what_it_computes(folder, stores):
    request = replace(REQUEST, model=str(folder))
    for change in (behaviours.forward_of_the_class, behaviours.global_hook):
        undo = change(tiny.model("llama"))
        try:
            found = measure(request, stores[0])
        finally:
            undo()
        assert found.provenance["not_stored"]
        assert not stores[0].entries()
    assert measure(request, stores[0]).key


@pytest.mark.slow
@pytest.mark.parametrize(("family", "way"), [*itertools.product(FAMILIES, WAYS)])
def test_a_field_of_the_config_that_changes_gives_another_key_or_the_same_numbers(family, way):
    found = outcomes(family, way)
    assert found.keys() <= {"new key", "same numbers", "no such model"}
    assert found["new key"] > 5
    assert found.total() > 30


def test_a_result_of_ones_own_names_no_model_of_ours(stores):
    model = tiny.model("llama")
    result = measure(REQUEST, stores[0], model=model)
    assert result.request.model == OWN + "LlamaForCausalLM"
    assert result.model_name == "LlamaForCausalLM"
    assert "smollm" not in str(stores[0].entries()).lower()
    # What a stored result asked can be asked again, of a module.
    assert measure(result.request, stores[0], model=model).key == result.key


# ---- what is read


class Spelling:
    """A tokenizer of no library: one id a letter."""

    def __init__(self, shift):
        self.shift = shift

    def __call__(self, text):
        return {"input_ids": [ord(letter) % 200 + self.shift for letter in text]}

    def convert_ids_to_tokens(self, ids):
        return [chr(i) for i in ids]


def test_another_tokenizer_is_another_question(stores):
    model, asked, lowering = shallow.model("llama"), Request("The cat", k=4), tiny.tokenizer()
    lowering.backend_tokenizer.normalizer = normalizers.Lowercase()
    for one, other in ((tiny.tokenizer(), lowering), (Spelling(0), Spelling(1))):
        reads = (one, other, one)
        found = [measure(asked, stores[0], model=model, tokenizer=each) for each in reads]
        assert found[0].key == found[2].key != found[1].key
        for result, tokenizer in zip(found, reads, strict=True):
            assert result.token_ids.tolist() == list(tokenizer("The cat")["input_ids"])


def test_what_an_attribute_holds_decides():
    """Numbers, texts, lists and tensors that a module keeps beside its weights, one at a time."""
    held = (
        *(None, 1, 1.0, True, "1", (1,), {"a": 1}, {"a": 2}, range(3), torch.float16),
        *(np.float32(0.5), np.zeros(2), torch.ones(2), torch.zeros(2)),
        *([torch.nn.ReLU()], [torch.nn.SiLU()]),
    )
    model, seen = tiny.model("llama"), set()
    for value in held:
        model.model.layers[0].mlp.held = value
        seen.add(content(model).digest)
    assert len(seen) == len(held)


def half_frozen(model):
    for number, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(bool(number % 2))


def born_in_inference_mode(model):
    with torch.inference_mode():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                module._parameters[name] = torch.nn.Parameter(parameter.clone())


HANDED_OVER = (
    (born_in_inference_mode, nullcontext),
    (lambda model: model.requires_grad_(True).train(), nullcontext),
    (half_frozen, nullcontext),
    (lambda model: model.requires_grad_(True), torch.no_grad),
    (lambda model: model, torch.inference_mode),
)
"""What people do with a module before they measure it, and in what."""


@pytest.mark.parametrize(
    ("family", "kind"),
    [("gpt_neox", "depth"), pytest.param("t5", "fixed-output", marks=pytest.mark.slow)],
)
def test_modules_are_measured_as_people_hand_them_over(family, kind):
    """`from_pretrained` returns parameters that require gradients; the bits are the same."""
    asked = Request(IDS, kind=kind, **({} if kind == "trajectory" else {"k": 4, "k_view": 2}))

    def bits(model):
        arrays = vars(measure(asked, model=model)).items()
        return {name: each.tobytes() for name, each in arrays if isinstance(each, np.ndarray)}

    expected = bits(shallow.model(family))
    for prepare, within in HANDED_OVER:
        model = shallow.model(family)
        prepare(model)
        trained = [parameter.requires_grad for parameter in model.parameters()]
        with within():
            assert bits(model) == expected
        assert [parameter.requires_grad for parameter in model.parameters()] == trained


def test_torchscript_is_refused_by_its_place():
    model = shallow.model("llama")
    model.model.layers[0].mlp.act_fn = torch.jit.script(torch.nn.SiLU())
    with pytest.raises(CouplingError, match="TorchScript"):
        measure(REQUEST, model=model)
