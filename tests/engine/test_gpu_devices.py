"""Every kind of measurement on a pretended GPU, in a family of each sort: no tensor is elsewhere.

It refuses what CUDA refuses where tensors of two devices meet, and computes what the CPU does.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pretend_gpu
import pytest
import tiny
import torch
import vision_models

from coupling_core.base.records import Request
from coupling_core.base.results import Result, TrajectoryResult, WhatIfResult
from coupling_core.measuring.measure import measure

IDS = (5, 17, 42, 8, 99, 17)
TEXTS = (
    "gpt2",  # learned positions
    "llama3",  # rotary positions with scaling, grouped queries
    "mistral",  # a window shorter than the prompt
    "gemma3",  # norms round every branch, two kinds of attention in turn
    "gpt_neox",  # attention and MLP in parallel
    "opt_350m",  # post-norm, an embedding of another width
    "openai_gpt",  # no cache, no marked layers
    "bloom",  # ALiBi
    "bert",  # bidirectional
    "mamba",  # no attention at all
    "t5",  # two stacks
)
PICTURES = ("vit", "beit")
KINDS: dict[str, dict[str, Any]] = {
    "depth": {},
    "fixed-input": {"token": 3, "block": 1, "other_block": 2},
    "fixed-output": {"block": 1, "other_block": 2},
    "self": {"block": 2, "other_block": 3},
    "self, all pairs": {},
    "trajectory": {},
    "what-if": {},
}
SHORT = ("gpt_neox",)
"""Families that are measured in every kind by default; the others are across depth alone."""
EVERY = [
    pytest.param(
        family,
        kind,
        id=f"{family}-{kind}",
        marks=() if kind == "depth" or family in SHORT else pytest.mark.families,
    )
    for family in (*TEXTS, *PICTURES)
    for kind in KINDS
]
UNTOLD = ("BertForMaskedLM", "T5ForConditionalGeneration")
"""Their attention calls a kernel that the pretended device lacks, and goes a way of its own."""
GPU = str(pretend_gpu.GPU)
TOLERANCE = 1e-3
"""Of singular values and means, relative to the largest: the products are others than the CPU's."""


def asked(family: str, kind: str, **changes: Any) -> Request:
    """A small measurement of each kind."""
    if family in PICTURES:
        prompt: Any = vision_models.picture()
    else:
        prompt = IDS
    stack = {"stack": "decoder"} if family in tiny.TWO_STACKS else {}
    name = kind.partition(",")[0]
    k = {} if name in ("trajectory", "what-if") else {"k": 4}
    return Request(prompt, kind=name, **k | KINDS[kind] | stack | changes)


def built(family: str) -> tuple[Any, Any]:
    """A model, and what turns its prompts into numbers."""
    if family in PICTURES:
        return vision_models.model(family), vision_models.processor()
    return tiny.model(family), None


def require_equal(there: Result, here: Result) -> None:
    """Compare what no order of nearly equal singular values changes."""
    assert there.provenance["device"] == "pretended"
    if here.identity["name"] not in UNTOLD:
        # What fails in a fast way is done by a plainer one, and would be slow unseen.
        assert there.provenance["ways"] == here.provenance["ways"], "other ways were taken"
    if isinstance(here, WhatIfResult):
        assert (there.measured_of, there.refused) == (here.measured_of, here.refused)
        for name in ("divergence", "loss", "own_loss", "exchange_true", "exchange_predicted"):
            np.testing.assert_allclose(
                getattr(there, name), getattr(here, name), rtol=TOLERANCE, atol=1e-4
            )
        return
    if isinstance(here, TrajectoryResult):
        for name in ("norms", "step_lengths", "one_step", "rolled_out"):
            np.testing.assert_allclose(
                getattr(there, name), getattr(here, name), rtol=TOLERANCE, atol=TOLERANCE
            )
        return
    s = here.singular_values
    np.testing.assert_allclose(there.singular_values, s, atol=TOLERANCE * np.nanmax(s), rtol=0)
    for name in ("diagonal", "off_diagonal") if hasattr(here, "diagonal") else ("corrected",):
        expected = getattr(here, name)
        scale = np.nanmax(np.abs(expected))
        np.testing.assert_allclose(getattr(there, name), expected, atol=TOLERANCE * scale, rtol=0)


def measure_both(family: str, kind: str, dtype: torch.dtype = torch.float32) -> None:
    """Measure here and there, and compare."""
    model, words = built(family)
    model, request = model.to(dtype), asked(family, kind)
    here = measure(request, model=model, tokenizer=words)
    with pretend_gpu.pretending():
        there = measure(request, model=model.to(GPU), tokenizer=words)
    require_equal(there, here)


@pytest.mark.parametrize(("family", "kind"), EVERY)
def test_a_gpu_is_given_all_that_it_computes_with(family: str, kind: str) -> None:
    measure_both(family, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_in_bfloat16_are_lent_where_they_are(kind: str) -> None:
    measure_both("llama3", kind, torch.bfloat16)


PLANTED = {
    "weights": ("coupling_core.engine.loading.weights._ready", "depth"),
    "a branch": ("coupling_core.engine.jacobians.branches.product", "depth"),
    "a Jacobian": ("coupling_core.engine.jacobians.same_token.residual", "depth"),
    "chance frames": ("coupling_core.engine.pairs.square.random_frames", "depth"),
    "singular vectors": ("coupling_core.engine.pairs.svd._orthonormal", "depth"),
    "products": ("coupling_core.engine.pairs.products.product", "self"),
    "between tokens": ("coupling_core.engine.jacobians.earlier_tokens._assemble", "fixed-output"),
    "an edited state": ("coupling_core.engine.edits.programs.after", "what-if"),
    "a path": ("coupling_core.engine.jacobians.linearised_path.products", "trajectory"),
}
"""A function of each room whose tensor might stay on the CPU, and a kind that meets it."""


@pytest.mark.parametrize(("name", "kind"), PLANTED.values(), ids=PLANTED)
def test_a_tensor_left_on_the_cpu_is_found(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, function = name.rpartition(".")
    right = getattr(importlib.import_module(module), function)

    def left_behind(*args: Any, **kwargs: Any) -> Any:
        found = right(*args, **kwargs)
        return found.cpu() if isinstance(found, torch.Tensor) else found

    monkeypatch.setattr(name, left_behind)
    with pytest.raises(Exception, match=r"device|cannot be run again|other ways"):
        measure_both("gpt_neox", kind, torch.bfloat16)


LOADED = {
    "resident": {},
    "in bfloat16": {"dtype": "bfloat16"},
}


@pytest.mark.parametrize("changes", LOADED.values(), ids=LOADED)
def test_a_folder_is_brought_to_the_gpu(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = tiny.folder(tmp_path / "model", "gpt_neox")
    request = asked("gpt_neox", "depth", model=str(folder), **changes)
    here = measure(request, device="cpu")
    with pretend_gpu.pretending():
        there = measure(request, device=GPU)
    require_equal(there, here)
