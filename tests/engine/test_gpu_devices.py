"""Every kind of measurement on a pretended GPU, in a family of each sort: no tensor is elsewhere.

It refuses what CUDA refuses where tensors of two devices meet, and computes what the CPU does.
"""

import importlib
import itertools
from pathlib import Path
from typing import Any

import pretend_gpu
import pytest
import tiny
import torch
from two_devices import KINDS, asked, built, require_equal

from coupling_core.base.results import Result
from coupling_core.measuring.measure import measure

FAMILIES = (
    "gpt2", "llama3", "mistral", "gemma3", "gpt_neox", "opt_350m", "openai_gpt", "bloom", "bert",
    "mamba", "t5", "vit", "beit",
)  # fmt: skip
CHOSEN = {
    **{("gpt_neox", kind): () for kind in ("depth", "fixed-output", "what-if")},
    **{("gpt_neox", kind): pytest.mark.full for kind in ("self", "trajectory", "fixed-input")},
    **{(family, "depth"): pytest.mark.full for family in ("bert", "mamba", "t5", "beit")},
}
"""What is not slow: each kind of one family, and depth of those that go another way."""
UNTOLD = ("BertForMaskedLM", "T5ForConditionalGeneration")
"""Their attention calls a kernel that the pretended device lacks, and goes a way of its own."""
GPU = str(pretend_gpu.GPU)


def require_same(there: Result, here: Result) -> None:
    """Compare the numbers, and how they were come by."""
    assert there.provenance["device"] == "pretended"
    if here.identity["name"] not in UNTOLD:
        # What fails in a fast way is done by a plainer one, and would be slow unseen.
        assert there.provenance["ways"] == here.provenance["ways"], "other ways were taken"
    require_equal(there, here)


def measure_both(family: str, kind: str, dtype: torch.dtype = torch.float32) -> None:
    """Measure here and there, and compare."""
    model, words = built(family)
    model, request = model.to(dtype), asked(family, kind)
    here = measure(request, model=model, tokenizer=words)
    with pretend_gpu.pretending():
        there = measure(request, model=model.to(GPU), tokenizer=words)
    require_same(there, here)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        pytest.param(*case, marks=CHOSEN.get(case, pytest.mark.slow))
        for case in dict.fromkeys(
            [
                *itertools.product(("gpt_neox", "llama3", "bert"), KINDS),
                *itertools.product(FAMILIES, ("depth", "fixed-output")),
            ]
        )
    ],
)
def test_a_gpu_is_given_all_that_it_computes_with(family: str, kind: str) -> None:
    measure_both(family, kind)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["depth", "fixed-input"])
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


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize("changes", [{}, {"dtype": "bfloat16"}], ids=str)
def test_a_folder_is_brought_to_the_gpu(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = tiny.folder(tmp_path / "model", "gpt_neox")
    request = asked("gpt_neox", "depth", model=str(folder), **changes)
    here = measure(request, device="cpu")
    with pretend_gpu.pretending():
        there = measure(request, device=GPU)
    require_same(there, here)
