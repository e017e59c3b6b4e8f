"""Weights in any precision, quantised or streamed: the numbers of the float32 model meant."""

import copy

import numpy as np
import pytest
import shallow
import tiny
import torch
from checks import relative
from torch import nn

from coupling_core import Request, View, measure, score_pairs
from coupling_core.engine.loading import in_float32, load, loading, weights
from coupling_core.sources.resolved import resolve

IDS = [5, 17, 42, 8, 99, 17, 3]
CPU = torch.device("cpu")
IN_MEMORY = Request(tuple(IDS), k=8, k_view=8)


def request(model, **changes):
    return Request(tuple(IDS), model=str(model), k=8, k_view=8, **changes)


def folder(path, family="llama", dtype=torch.bfloat16):
    """A folder whose weights are stored in lower precision, as most of the hub's are."""
    shallow.model(family).to(dtype).save_pretrained(path)
    tiny.tokenizer().save_pretrained(path)
    return path


def scores(result):
    return [result.singular_values, result.diagonal, result.off_diagonal, result.jacobian_norm]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(scores(a), scores(b), strict=True))


CASES = [("gemma3", "bfloat16"), ("llama", "float32"), ("gpt_neox", "float16")]
SLOW = [("t5", "float32"), *((family, "float16") for family in ("mixtral", "mamba", "bert"))]


@pytest.mark.parametrize(
    ("family", "dtype"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_streamed_and_resident_agree_to_the_bit(tmp_path, family, dtype):
    stored = torch.bfloat16 if dtype == "float32" else torch.float32
    asked = request(folder(tmp_path / family, family, stored), dtype=dtype)
    resident, streamed = (load(resolve(asked), "cpu", streamed=how) for how in (False, True))
    held = torch.bfloat16 if dtype == "float32" else getattr(torch, dtype)
    assert {p.dtype for p in resident.model.parameters()} == {torch.float32}
    assert {p.dtype for p in streamed.model.parameters()} == {held}
    results = [measure(IN_MEMORY, model=held.model) for held in (resident, streamed)]
    assert same(*results)
    exact = shallow.model(family).buffers() if stored == torch.float32 else ()
    for rounded, constant in zip(resident.model.buffers(), exact, strict=False):
        assert torch.equal(rounded, constant)


def test_a_model_that_does_not_fit_is_streamed(tmp_path, monkeypatch):
    asked = request(folder(tmp_path / "model"))
    monkeypatch.setattr(loading, "usable_memory", lambda device: 100_000)
    assert {p.dtype for p in load(resolve(asked), "cpu").model.parameters()} == {torch.bfloat16}


def test_a_folder_of_mixed_precision_loses_nothing(tmp_path):
    model = tiny.model("llama").bfloat16()
    model.model.norm.weight.data = 1 + torch.rand(32) / 1000
    model.save_pretrained(tmp_path / "model")
    tiny.tokenizer().save_pretrained(tmp_path / "model")
    streamed = load(resolve(request(tmp_path / "model")), "cpu", streamed=True)
    assert torch.equal(streamed.model.model.norm.weight, model.model.norm.weight)


def test_a_precision_rounds_the_weights_and_not_the_arithmetic(tmp_path):
    path = folder(tmp_path / "model", dtype=torch.float32)
    rounded = copy.deepcopy(load(resolve(request(path)), "cpu").model)
    for parameter in rounded.parameters():
        parameter.data = parameter.data.bfloat16().float()
    expected = measure(IN_MEMORY, model=rounded)
    assert same(measure(request(path, dtype="bfloat16"), device="cpu"), expected)
    assert not same(measure(request(path), device="cpu"), expected)
    twin = load(resolve(request(path, untrained=0, dtype="bfloat16")), "cpu").model
    assert all(torch.equal(p, p.bfloat16().float()) for p in twin.parameters())
    assert not twin.training


@pytest.mark.parametrize(("family", "form"), [("llama", "nf4"), ("gpt2", "int8")])
def test_quantised_equals_the_model_it_dequantises_to(tmp_path, family, form):
    path = folder(tmp_path / "model", family, torch.float32)
    quantised = load(resolve(request(path, quantize=form)), "cpu").model
    modules = [m for m in quantised.modules() if weights.is_quantised(m)]
    assert len(modules) >= 2 * 4
    plain = shallow.model(family)
    for name, module in quantised.named_modules():
        if weights.is_quantised(module):
            weight, target = weights.dequantised_weight(module), plain.get_submodule(name)
            target.weight.data = weight if isinstance(target, nn.Linear) else weight.T.contiguous()
    expected = measure(IN_MEMORY, model=plain)
    found = measure(request(path, quantize=form), device="cpu")
    c, right = (score_pairs(result, View(k=8)).coupling for result in (found, expected))
    assert c == pytest.approx(right, abs=1e-6)
    assert not same(measure(request(path), device="cpu"), expected)


def test_weights_go_back_even_where_a_call_fails():
    held = tiny.model("llama").bfloat16()
    before = [(p.data_ptr(), p.dtype) for p in held.parameters()]
    with in_float32(held, CPU), pytest.raises(IndexError):
        held(input_ids=torch.tensor([[10_000]]))
    with in_float32(held, CPU):
        held(input_ids=torch.tensor([IDS]))
        assert [(p.data_ptr(), p.dtype) for p in held.parameters()] == before
    assert not any("forward" in m.__dict__ for m in held.modules())


def test_large_matrices_outside_the_blocks_are_never_copied_whole(monkeypatch):
    held = tiny.model("gemma3").bfloat16()
    expected = tiny.model("gemma3").bfloat16().float()(input_ids=torch.tensor([IDS])).logits
    monkeypatch.setattr(weights, "LARGE", 32 * 100)
    copied = []
    ready = weights._ready
    monkeypatch.setattr(weights, "_ready", lambda t, d: copied.append(t.numel()) or ready(t, d))
    with in_float32(held, CPU):
        found = held(input_ids=torch.tensor([IDS])).logits
    assert relative(found, expected) < 1e-6
    assert max(copied) <= 32 * 100
    assert held.get_input_embeddings().weight.dtype == torch.bfloat16
