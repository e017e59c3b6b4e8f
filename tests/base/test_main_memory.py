"""How much memory is free, and that it ran out, by whatever name."""

import errno

import pytest

from coupling_core.base import memory
from coupling_core.base.memory import asked_bytes, free_memory, is_out_of_memory, usable_memory
from coupling_core.base.settings import settings

SAID = (
    "[enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator: not enough memory: you tried "
    "to allocate 1024 bytes.",
    "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you "
    "tried to allocate 83886080 bytes. Error code 12 (Cannot allocate memory)",
    "could not create a primitive",
    "could not create a primitive descriptor for the matmul primitive",
    "std::bad_alloc",
    "can't start new thread",
    "unable to mmap 1024 bytes from file <model.safetensors>: Cannot allocate memory (12)",
    "CUDA out of memory. Tried to allocate 3.00 GiB",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
)


@pytest.mark.parametrize("text", SAID, ids=lambda text: text[:30])
def test_a_lack_of_memory_is_known_by_what_libraries_call_it(text):
    assert is_out_of_memory(RuntimeError(text))
    assert not is_out_of_memory(ValueError(text))  # it may quote somebody's prompt


def test_it_is_known_by_its_class_and_by_what_it_was_raised_from():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert not is_out_of_memory(OSError(errno.ENOSPC, "No space left on device"))
    assert is_out_of_memory(type("OutOfMemoryError", (RuntimeError,), {})("any"))
    assert not is_out_of_memory(RuntimeError("CUDA error: an illegal memory access"))
    instead = ValueError("failed to create an array")
    instead.__cause__ = MemoryError()
    assert is_out_of_memory(instead)
    hidden = ValueError("of its own")
    hidden.__context__, hidden.__suppress_context__ = MemoryError(), True
    assert not is_out_of_memory(hidden)


def test_what_was_asked_for_is_read():
    assert asked_bytes(RuntimeError(SAID[1])) == 83886080
    assert asked_bytes(RuntimeError("Tried to allocate 3.00 GiB")) == 3 * 2**30
    assert asked_bytes(MemoryError()) == 0


@pytest.fixture
def group(tmp_path, monkeypatch):
    """A container's limit, as Linux tells it; gives what sets it."""
    monkeypatch.setattr(memory, "_GROUP", tmp_path)

    def tell(limit, taken, of_files):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{taken}\n")
        (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {of_files}\n")

    return tell


def test_a_container_has_what_its_limit_leaves_with_the_files_that_it_read(group):
    whole = free_memory()
    group(3000, 2000, 500)
    assert free_memory() == 1500
    assert usable_memory() == max(0, 1500 - settings().memory_reserve)
    group(1000, 2000, 0)
    assert free_memory() == 0
    group("max", 2000, 500)
    assert free_memory() == pytest.approx(whole, rel=0.5)
