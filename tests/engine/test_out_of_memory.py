"""Memory that runs out: the work is done in smaller parts, and the numbers stay what they are."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tiny
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from coupling_core import ComputeError, Request, measure
from coupling_core.base.memory import asked_bytes, is_out_of_memory
from coupling_core.engine import out_of_memory
from coupling_core.engine.jacobians.between_tokens import through_all
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.out_of_memory import Chunks
from coupling_core.sources.resolved import resolve

ROUNDING = 1e-5
"""Of float32 products of another shape: relative to the largest entry."""


LIMITED = """
import json, re, resource
from pathlib import Path
import torch
from transformers import MambaConfig, MambaForCausalLM
from coupling_core import Request, measure
from coupling_core.engine import out_of_memory

def bytes_of(name):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+)", status)[1])

torch.set_num_threads(1)
torch.manual_seed(0)
shape = {"hidden_size": 256, "intermediate_size": 512}
config = MambaConfig(num_hidden_layers=1, vocab_size=200, **shape)
model = MambaForCausalLM(config).eval().requires_grad_(False)
request, few = Request(tuple(range(1, 33)), k=4), Request((1, 2, 3), k=4)
measure(few, model=model)
before = bytes_of("VmSize")
expected = measure(request, model=model)
took = bytes_of("VmPeak") - before
halved = []
out_of_memory.when_short(lambda: halved.append(1))
resource.setrlimit(resource.RLIMIT_AS, (before + int(0.6 * took), resource.RLIM_INFINITY))
found = measure(request, model=model)
worst = abs(found.singular_values - expected.singular_values).max() / expected.singular_values.max()
print(json.dumps({"halved": len(halved), "worst": float(worst)}))
"""


class Scarce(TorchDispatchMode):
    """No room for a tensor larger than so many bytes; without a limit, the largest is noted."""

    def __init__(self, limit=float("inf")):
        super().__init__()
        self.limit, self.largest, self.refused = limit, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(output):
            size = tensor.untyped_storage().nbytes() if isinstance(tensor, torch.Tensor) else 0
            self.largest = max(self.largest, size)
            if size > self.limit:
                self.refused += 1
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")
        return output


def lengths(limit, count, size):
    """Of the chunks in which work is done that fails beyond a limit."""

    def work(part):
        if part.stop - part.start > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(range(count))[part]

    taken = Chunks(size)
    parts = [found for _, found in taken.of(work, count)]
    assert [item for part in parts for item in part] == list(range(count))
    return [len(part) for part in parts], taken.size


def test_chunks_are_halved_until_they_fit_and_stay_so():
    assert lengths(100, 10, 4) == ([4, 4, 2], 4)
    assert lengths(3, 10, 8) == ([2, 2, 2, 2, 2], 2)
    assert lengths(3, 7, 100) == ([3, 3, 1], 3)
    assert lengths(1, 3, 3) == ([1, 1, 1], 1)


def test_what_does_not_fit_alone_is_the_callers_and_any_other_error_is_not_tried_again():
    with pytest.raises(torch.OutOfMemoryError):
        lengths(0, 3, 3)
    tried = []

    def work(part):
        tried.append(part)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        list(Chunks(4).of(work, 8))
    assert tried == [slice(0, 4)]


@pytest.mark.parametrize(
    "allocate", [lambda: torch.empty(2**45), lambda: np.empty(2**45)], ids=["torch", "numpy"]
)
def test_real_failures_are_known_with_what_they_asked_for(allocate):
    with pytest.raises((RuntimeError, MemoryError)) as failed:
        allocate()
    assert is_out_of_memory(failed.value)
    assert asked_bytes(failed.value) in (2**47, 2**48)


def test_what_is_kept_goes_when_memory_is_short(tmp_path):
    from coupling_core.engine.loading import load, loading

    load(resolve(Request("-", model=str(tiny.folder(tmp_path / "tiny")))), "cpu")
    assert len(loading._kept)
    out_of_memory.relieve()
    assert len(loading._kept) == 0


STAGES = {
    # Eager attention hides how rows meet, so that all of them are run.
    "rows": ("bert", 12, {"kind": "depth", "k": 8}, "eager"),
    "pairs": ("llama", 10, {"kind": "self", "block": 2, "k": 8}, None),
    "means": ("llama", 5, {"kind": "self", "k": 8}, None),
    "logits": ("llama", 12, {"kind": "trajectory"}, None),
}


def arrays(result):
    names = ("singular_values", "diagonal", "off_diagonal", "coupling", "corrected", "entropy")
    return {name: getattr(result, name) for name in names if hasattr(result, name)}


@pytest.mark.parametrize(
    ("family", "n", "asked", "attention"),
    STAGES.values(),
    ids=STAGES,
)
@pytest.mark.full
@pytest.mark.usefixtures("one_thread")
def test_numbers_do_not_depend_on_the_memory(family, n, asked, attention):
    model, request = (
        tiny.model(family, attention=attention),
        Request(tuple(range(1, n + 1)), **asked),
    )
    with Scarce() as plenty:
        expected = arrays(measure(request, model=model))
    with Scarce(plenty.largest - 1) as scarce:
        found = arrays(measure(request, model=model))
    assert scarce.refused
    assert scarce.largest <= plenty.largest
    for name, values in expected.items():
        scale = np.nanmax(np.abs(values))
        np.testing.assert_allclose(found[name], values, rtol=0, atol=ROUNDING * scale)


def test_gradients_through_the_whole_sequence_do_not_either():
    call = read(tiny.model("bert"), list(range(1, 41))).whole[1]
    with Scarce() as plenty:
        expected = through_all(call, 40, None)
    with Scarce(plenty.largest - 1) as scarce:
        found = through_all(call, 40, None)
    assert scarce.refused
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * float(expected.abs().max()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_real_limit_is_lived_with():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["halved"]
    assert found["worst"] < ROUNDING


def test_what_fits_in_no_part_is_told_with_what_is_needed(tmp_path, monkeypatch):
    def fails(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")

    monkeypatch.setattr("coupling_core.engine.jacobians.derivative_check.block_jacobian", fails)
    request = Request("The cat sat", model=str(tiny.folder(tmp_path / "tiny")), k=4)
    with pytest.raises(ComputeError, match=r"3\.2 GB more .*; about \S+ MB .* \S+ GB"):
        measure(request, device="cpu")
    with pytest.raises(ComputeError, match="memory"):
        measure(Request((1, 2, 3), k=4), model=tiny.model("llama"))
