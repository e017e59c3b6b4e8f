"""Memory that runs out: the work is done in smaller parts, and the numbers stay what they are."""

import numpy as np
import pytest
import shallow
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


def chunks(limit, count, size):
    """The lengths of the chunks in which work is done that fails beyond a limit."""

    def work(part):
        if part.stop - part.start > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(range(count))[part]

    parts = [found for _, found in Chunks(size).of(work, count)]
    assert [item for part in parts for item in part] == list(range(count))
    return [len(part) for part in parts]


def test_chunks_are_halved_until_they_fit_and_stay_so():
    assert chunks(100, 10, 4) == [4, 4, 2]
    assert chunks(3, 10, 8) == [2, 2, 2, 2, 2]
    assert chunks(1, 3, 3) == [1, 1, 1]
    with pytest.raises(torch.OutOfMemoryError):
        chunks(0, 1, 1)


def test_any_other_error_is_not_tried_again():
    tried = []

    def work(part):
        tried.append(part)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        list(Chunks(4).of(work, 8))
    assert tried == [slice(0, 4)]


def test_real_failures_are_known_with_what_they_asked_for():
    for allocate in (torch.empty, np.empty):
        with pytest.raises((RuntimeError, MemoryError)) as failed:
            allocate(2**45)
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
    "pairs": ("llama", 6, {"kind": "self", "block": 2, "other_block": 1, "k": 4}, None),
    "means": ("llama", 3, {"kind": "self", "k": 4}, None),
    "logits": ("llama", 12, {"kind": "trajectory"}, None),
}
ARRAYS = ("singular_values", "diagonal", "off_diagonal", "coupling", "corrected", "entropy")


def require_same_where_memory_is_short(work):
    """Of the arrays that the work gives, once with memory and once without room for its largest."""
    with Scarce() as plenty:
        expected = work()
    with Scarce(plenty.largest - 1) as scarce:
        found = work()
    assert scarce.refused
    assert scarce.largest <= plenty.largest
    for one, other in zip(found, expected, strict=True):
        scale = np.nanmax(np.abs(other))
        np.testing.assert_allclose(one, other, rtol=0, atol=ROUNDING * scale)


@pytest.mark.full
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("family", "n", "asked", "attention"), STAGES.values(), ids=STAGES)
def test_numbers_do_not_depend_on_the_memory(family, n, asked, attention):
    model = shallow.model(family, attention=attention)

    def work():
        result = measure(Request(tuple(range(1, n + 1)), **asked), model=model)
        return [getattr(result, name) for name in ARRAYS if hasattr(result, name)]

    require_same_where_memory_is_short(work)


def test_gradients_through_the_whole_sequence_do_not_either():
    call = read(shallow.model("bert"), list(range(1, 41))).whole[1]
    require_same_where_memory_is_short(lambda: [through_all(call, 40, None).numpy()])


def test_what_fits_in_no_part_is_told_with_what_is_needed(tmp_path, monkeypatch):
    def fails(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")

    monkeypatch.setattr("coupling_core.engine.jacobians.derivative_check.block_jacobian", fails)
    request = Request("The cat sat", model=str(tiny.folder(tmp_path / "tiny")), k=4)
    with pytest.raises(ComputeError, match=r"3\.2 GB more .*; about \S+ MB .* \S+ GB"):
        measure(request, device="cpu")
