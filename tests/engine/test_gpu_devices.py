"""Every kind of measurement on a pretended GPU: no tensor is elsewhere.

It refuses what CUDA refuses where tensors of two devices meet, and computes what the CPU does.
"""

import importlib
import itertools

import pretend_gpu
import pytest
import tiny
import torch
from two_devices import KINDS, asked, measure_both, require_equal

from coupling_core.measuring.measure import measure

FAMILIES = (
    "gpt2", "mistral", "gemma3", "opt_350m", "openai_gpt", "bloom", "mamba", "t5", "vit", "beit",
)  # fmt: skip
UNTOLD = ("BertForMaskedLM", "T5ForConditionalGeneration")
"""Their attention calls a kernel that the pretended device lacks, and goes a way of its own."""
GPU = str(pretend_gpu.GPU)


def measure_there_too(family, kind, dtype=torch.float32):
    there, here = measure_both(family, kind, GPU, dtype, pretend_gpu.pretending)
    assert there.provenance["device"] == "pretended"
    if here.identity["name"] not in UNTOLD:
        # What fails in a fast way is done by a plainer one, and would be slow unseen.
        assert there.provenance["ways"] == here.provenance["ways"], "other ways were taken"


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        pytest.param(*case, marks=() if case == ("gpt_neox", "depth") else pytest.mark.slow)
        for case in (
            *itertools.product(("gpt_neox", "llama3", "bert"), KINDS),
            *itertools.product(FAMILIES, ("depth", "fixed-output")),
        )
    ],
)
def test_a_gpu_is_given_all_that_it_computes_with(family, kind):
    measure_there_too(family, kind)


@pytest.mark.full
def test_weights_in_bfloat16_are_lent_where_they_are():
    measure_there_too("gpt_neox", "fixed-output", torch.bfloat16)


ROOMS = "coupling_core.engine."
PLANTED = {
    "loading.weights._ready": "depth",
    "pairs.svd._gram": "depth",
    "jacobians.earlier_tokens._assemble": "fixed-output",
}
"""A function of each room whose tensor might stay on the CPU, and a kind that meets it."""


@pytest.mark.full
@pytest.mark.parametrize("name", PLANTED)
def test_a_tensor_left_on_the_cpu_is_found(name, monkeypatch):
    module, _, function = (ROOMS + name).rpartition(".")
    right = getattr(importlib.import_module(module), function)

    def left_behind(*args, **kwargs):
        found = right(*args, **kwargs)
        return found.cpu() if isinstance(found, torch.Tensor) else found

    monkeypatch.setattr(ROOMS + name, left_behind)
    with pytest.raises(Exception, match=r"device|cannot be run again|other ways"):
        measure_there_too("gpt_neox", PLANTED[name], torch.bfloat16)


@pytest.mark.full
def test_a_folder_is_brought_to_the_gpu(tmp_path):
    folder = tiny.folder(tmp_path / "model", "gpt_neox")
    request = asked("gpt_neox", "depth", model=str(folder), dtype="bfloat16")
    here = measure(request, device="cpu")
    with pretend_gpu.pretending():
        require_equal(measure(request, device=GPU), here)
