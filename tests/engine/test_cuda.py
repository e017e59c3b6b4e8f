"""Every kind of measurement, of every family, on a real GPU: it gives what the processor gives."""

from contextlib import contextmanager

import pytest
import tiny
import torch
import vision_models
from transformers import MambaConfig, MambaForCausalLM
from two_devices import ALONE, KINDS, asked, built, measure_both, require_equal

from coupling_core import Request, coupling_penalty
from coupling_core.base.errors import ComputeError
from coupling_core.engine import out_of_memory
from coupling_core.measuring.measure import measure

pytestmark = pytest.mark.gpu
ACROSS_DEPTH = (*tiny.CAUSAL, *tiny.BIDIRECTIONAL, *tiny.TWO_STACKS, *vision_models.FAMILIES)
EVERY = dict.fromkeys(  # in order, and none twice
    [
        *((family, kind) for family in ("llama3", "gpt_neox", "bert") for kind in KINDS | ALONE),
        *((family, "depth") for family in ACROSS_DEPTH),
    ]
)


@pytest.mark.parametrize(("family", "kind"), EVERY)
def test_a_gpu_gives_what_the_processor_gives(family, kind):
    there, here = measure_both(family, kind, "cuda")
    assert there.provenance["device"] != here.provenance["device"]
    assert there.provenance["ways"] == here.provenance["ways"], "other ways were taken"


@pytest.mark.parametrize("kind", ["depth", "fixed-output", "what-if"])
def test_weights_in_half_precision_are_lent_where_they_are(kind):
    measure_both("llama3", kind, "cuda", torch.bfloat16)


@pytest.mark.parametrize("changes", [{"untrained": 3}, {"quantize": "nf4"}, {"quantize": "int8"}])
def test_a_folder_is_brought_to_the_gpu(changes, tmp_path):
    folder = tiny.folder(tmp_path / "model", "gpt_neox")
    request = asked("gpt_neox", "depth", model=str(folder), **changes)
    require_equal(measure(request, device="cuda"), measure(request, device="cpu"))


def test_a_model_larger_than_the_gpu_is_streamed(monkeypatch, tmp_path):
    request = asked("llama3", "depth", model=str(tiny.folder(tmp_path / "model", "llama3")))
    here = measure(request, device="cpu")
    monkeypatch.setattr("coupling_core.engine.loading.loading.usable_memory", lambda device: 10)
    require_equal(measure(request, device="cuda"), here)


@contextmanager
def at_most(count):
    """No more bytes of the GPU for this process."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(count / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_where_memory_runs_out_less_is_done_at_a_time_or_it_is_told():
    """Of a model whose Jacobian takes a gigabyte at once, and little more than itself by rows."""
    shape = {"hidden_size": 256, "intermediate_size": 512}
    mamba = MambaForCausalLM(MambaConfig(num_hidden_layers=1, vocab_size=200, **shape))
    mamba = mamba.eval().requires_grad_(False).to("cuda")
    request = Request(tuple(range(1, 33)), k=4)
    measure(request, model=mamba)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_reserved()
    expected = measure(request, model=mamba)
    took = torch.cuda.max_memory_reserved() - held
    halved = []
    out_of_memory.when_short(lambda: halved.append(1))
    with at_most(held + 0.6 * took):
        found = measure(request, model=mamba)
    assert halved, took
    require_equal(found, expected)
    torch.cuda.empty_cache()
    with at_most(torch.cuda.memory_reserved() + 2**20), pytest.raises(ComputeError, match="memory"):
        measure(Request(tuple(range(1, 129)), k=4), model=mamba)


def test_the_penalty_and_its_gradient():
    def of(device):
        model = built("llama3")[0].to(device).train().requires_grad_(True)
        model.config.use_cache = False
        penalty = coupling_penalty(model, goal="raise", pairs=99, k=2, sequences=2, power_steps=200)
        model(input_ids=torch.tensor([[3, 5, 7, 11], [1, 4, 1, 8]], device=device))
        value = penalty()
        value.backward()
        gradients = [p.grad for p in model.model.layers[1].parameters()]
        return value.item(), torch.cat([g.flatten().cpu() for g in gradients])

    (here, expected), (there, found) = of("cpu"), of("cuda")
    assert there == pytest.approx(here, rel=1e-3)
    assert torch.norm(found - expected) < 1e-2 * torch.norm(expected)
