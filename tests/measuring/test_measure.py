"""The composition: from a prompt to a stored result, on tiny models of real families."""

from dataclasses import replace
from functools import partial

import doors
import numpy as np
import pytest
import tiny
import torch
from refused import refusals

from coupling_core import InputError, Request, Store, View, measure, score_pairs
from coupling_core.base.errors import Cancelled, ComputeError
from coupling_core.engine import reference
from coupling_core.engine.loading import find_blocks

PROMPT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny.folder(tmp_path_factory.mktemp("model") / "tiny-llama"))


def close(values, tolerance=1e-4):
    """Equal but for the rounding of float32, in units of the largest entry."""
    return pytest.approx(values, abs=tolerance * float(np.abs(values).max()))


def expected_coupling(model, ids, token, k, final_norm):
    """Full-sequence Jacobians, full SVDs, a double loop."""
    n = len(find_blocks(model))
    norms = [None] * (n - 1) + [final_norm]
    jacobians = [
        reference.block_jacobian(model, ids, block, token, token, norm).numpy()
        for block, norm in enumerate(norms, 1)
    ]
    svds = [np.linalg.svd(J) for J in jacobians]
    return np.array(
        [
            [
                reference.score(reference.coupling_matrix(J, U[:, :k], Vh[:k].T), s[:k], "paper")
                for U, _, Vh in svds
            ]
            for J, (_, s, _) in zip(jacobians, svds, strict=True)
        ]
    )


@pytest.mark.parametrize(("token", "final_norm"), [(-1, "include"), (3, "exclude")])
def test_scores_are_those_of_the_definition(folder, token, final_norm):
    result = measure(Request(PROMPT, model=folder, token=token, k=6, final_norm=final_norm))
    model = tiny.model("llama")
    norm = model.model.norm if final_norm == "include" else None
    ids = result.token_ids.tolist()
    expected = expected_coupling(model, ids, result.token, 6, norm)
    found = score_pairs(result, View(k=6)).coupling
    assert found == pytest.approx(expected, abs=2e-5)


def test_a_result_names_what_was_measured_and_is_not_computed_again(folder, store):
    result = measure(Request(PROMPT, model=folder, token=-2, k=6), store)
    assert "".join(result.tokens) == PROMPT
    assert result.token == len(result.tokens) - 1
    assert result.width == result.k_max == result.k_view == 32
    assert result.certified
    assert result.identity["name"] == "tiny-llama"
    assert result.provenance["device"] == "cpu"
    assert len(result.next_tokens) == 5
    stages = []
    request = Request(PROMPT, model=folder, token=-2, k=4)
    second = measure(request, store, progress=stages.append)
    assert stages == []
    assert np.array_equal(result.diagonal, second.diagonal)
    assert [entry.key for entry in store.entries()] == [result.key]


def test_a_stored_result_with_a_small_jacobian_is_measured_again_if_nobody_looked(folder, store):
    request = Request(PROMPT, model=folder, k=4)
    found = measure(request, store)
    shrunk = replace(found, jacobian_norm=found.jacobian_norm * np.array([1, 1e-4, 1, 1]))
    store.put(shrunk)
    assert measure(request, store).jacobian_norm[1] == found.jacobian_norm[1]  # it was stored anew
    for way in ("a small Jacobian held against float64", "a Jacobian in float64 (too coarse)"):
        looked = dict(found.provenance) | {"ways": {way: {"2": 1}}}
        store.put(replace(shrunk, provenance=looked))
        assert measure(request, store).jacobian_norm[1] == shrunk.jacobian_norm[1]


def test_progress_counts_blocks_and_fills_in(folder):
    seen = []
    measure(Request(PROMPT, model=folder, k=6), progress=seen.append)
    assert [p.stage for p in seen] == ["loading", "tracing"] + ["blocks"] * 4
    assert [(p.done, p.total) for p in seen[2:]] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    filled = [np.isfinite(score_pairs(p.partial, View(k=6)).coupling).sum() for p in seen[2:]]
    assert filled == [1, 3, 6, 16]  # rows at once, columns by groups


def test_a_cancelled_measurement_stores_nothing_and_the_model_works_on(folder, store):
    def cancel(progress):
        if progress.done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        measure(Request(PROMPT, model=folder, k=6), store, progress=cancel)
    assert store.entries() == []
    assert measure(Request(PROMPT, model=folder, k=6), store).certified


def test_a_store_that_cannot_be_written_is_told_before_computing(folder, tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    with pytest.raises(InputError, match="cannot be written"):
        measure(Request(PROMPT, model=folder, k=4), Store(tmp_path / "file"), progress=told.append)
    assert not told


def test_a_model_of_ones_own_gives_the_numbers_of_its_folder_and_trains_on(folder, store):
    own = tiny.model("llama").train()
    found = measure(Request(PROMPT, k=6), store, model=own, tokenizer=tiny.tokenizer())
    assert found.diagonal == close(measure(Request(PROMPT, k=6, model=folder)).diagonal)
    assert own.training


def test_a_peft_wrapped_model_is_measured_with_its_adapter():
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q_proj", "up_proj"], lora_dropout=0.5)
    model = get_peft_model(tiny.model("llama"), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.constant_(parameter, 0.3)
    request = Request((5, 17, 42, 9), k=6)
    plain = measure(request, model=tiny.model("llama"))
    found = measure(request, model=model)
    merged = measure(request, model=model.merge_and_unload())
    # Of the smallest of 32 singular values two are so near to each other that rounding turns
    # their vectors: the values are compared, and the diagonal up to the K that was asked for.
    assert found.singular_values == close(merged.singular_values)
    assert found.diagonal[..., :6] == close(merged.diagonal[..., :6])
    assert found.diagonal[..., :6] != close(plain.diagonal[..., :6], 0.1)


def test_a_model_without_a_final_norm_has_one_result_for_both(store):
    bert = tiny.model("bert")
    for final_norm in ("include", "exclude"):
        measure(Request((5, 17, 42), k=4, final_norm=final_norm), store, model=bert)
    assert len(store.entries()) == 1


def test_bad_input_is_refused_and_nothing_stored_is_lost(folder, store, snapshot):
    kept = measure(Request(PROMPT, model=folder, k=6), store)
    every = {
        "K above the width": {"k": 33},
        "token": {"token": 40},
        "too long": {"prompt": PROMPT * 40},
        "ids": {"prompt": (5, 300)},
        "no such model": {"model": "no-such-alias"},
        "no such folder": {"model": "./no/such/folder"},
    }
    calls = {
        name: partial(measure, Request(**{"prompt": PROMPT, "model": folder} | changes), store)
        for name, changes in every.items()
    }
    assert refusals(calls) == snapshot
    assert [entry.key for entry in store.entries()] == [kept.key]


def test_weights_in_low_precision_are_computed_with_in_float32():
    rounded = tiny.model("llama").bfloat16().float()
    held = tiny.model("llama").bfloat16()
    ids = (5, 17, 42, 8)
    expected = measure(Request(ids, k=4, k_view=4), model=rounded)
    found = measure(Request(ids, k=4, k_view=4), model=held)
    assert np.array_equal(found.singular_values, expected.singular_values)
    assert np.array_equal(found.diagonal, expected.diagonal)
    assert found.provenance["weights"] == "bfloat16"
    assert {p.dtype for p in held.parameters()} == {torch.bfloat16}


def test_damaged_weights_are_refused():
    model = tiny.model("llama")
    model.model.layers[1].mlp.up_proj.weight.data[0, 0] = float("nan")
    with pytest.raises(ComputeError, match="block 2 is not finite"):
        measure(Request((5, 17)), model=model)


def test_the_untrained_twin_depends_on_its_seed_alone(folder):
    request = Request(PROMPT, model=folder, k=6)
    first, other, again = (measure(replace(request, untrained=seed)) for seed in (1, 2, 1))
    assert first.singular_values == close(again.singular_values)
    assert first.singular_values != close(other.singular_values)


@pytest.mark.parametrize(("small", "threads"), [(10**9, 1), (0, 2)])
def test_a_small_model_has_one_thread(folder, monkeypatch, small, threads):
    monkeypatch.setattr("coupling_core.engine.hardware.SMALL", small)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        result = measure(Request(PROMPT, model=folder, k=4))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert result.provenance["threads"] == threads


@pytest.mark.full
@pytest.mark.parametrize("made", [doors.of_transformers, doors.by_ones_own_hand])
def test_every_line_of_a_notebook_runs(made, tmp_path):
    doors.goes_through(made, tmp_path)
