"""How many cores and how much memory there are, in a container too; and that memory ran out."""

import errno
import os
import shutil

import psutil
import pytest

from coupling_core.base import memory
from coupling_core.base.cores import cores
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


def test_a_lack_of_memory_is_known_by_what_libraries_call_it():
    assert [text for text in SAID if not is_out_of_memory(RuntimeError(text))] == []
    # A ValueError may quote somebody's prompt.
    assert [text for text in SAID if is_out_of_memory(ValueError(text))] == []


def test_it_is_known_by_its_class_and_by_what_it_was_raised_from():
    of_torch = type("OutOfMemoryError", (RuntimeError,), {})("any")
    for error in (MemoryError(), OSError(errno.ENOMEM, ""), of_torch):
        assert is_out_of_memory(error)
    for error in (OSError(errno.ENOSPC, ""), RuntimeError("CUDA error: an illegal memory access")):
        assert not is_out_of_memory(error)
    instead, hidden = ValueError("failed to create an array"), ValueError("of its own")
    instead.__cause__ = MemoryError()
    assert is_out_of_memory(instead)
    hidden.__context__, hidden.__suppress_context__ = MemoryError(), True
    assert not is_out_of_memory(hidden)


def test_what_was_asked_for_is_read():
    assert asked_bytes(RuntimeError(SAID[1])) == 83886080
    assert asked_bytes(RuntimeError("Tried to allocate 3.00 GiB")) == 3 * 2**30
    assert asked_bytes(MemoryError()) == 0


VERSIONS = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Limits of groups, as Linux tells them; gives what sets one, and what puts us into one."""
    root, own = tmp_path / "groups", tmp_path / "own"
    monkeypatch.setattr(memory, "_GROUPS", root)
    monkeypatch.setattr(memory, "_OWN", own)

    def tell(version, path, limit, taken, of_files):
        folder = root / ("memory" if version == 1 else "") / path
        folder.mkdir(parents=True, exist_ok=True)
        most, now, files = VERSIONS[version]
        (folder / most).write_text(f"{limit}\n")
        (folder / now).write_text(f"{taken}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{files} {of_files}\n")

    def join(version, path):
        own.write_text(f"4:memory:/{path}\n3:cpu:/x\n" if version == 1 else f"0::/{path}\n")

    return tell, join


@pytest.mark.parametrize("version", VERSIONS)
def test_a_container_has_what_the_tightest_of_its_groups_leaves(groups, version):
    whole, (tell, join) = free_memory(), groups
    tell(version, "", 3000, 2000, 500)  # bytes of files that were read can be had again
    assert free_memory() == 1500
    assert usable_memory() == max(0, 1500 - settings().memory_reserve)
    tell(version, "", 1000, 2000, 0)
    assert free_memory() == 0
    tell(version, "", "max" if version == 2 else 9223372036854771712, 2000, 500)
    assert free_memory() == pytest.approx(whole, rel=0.5)
    tell(version, "docker", 3000, 2000, 500)
    tell(version, "docker/ours", 5000, 1000, 0)
    tell(version, "docker/others", 10, 10, 0)
    join(version, "docker/ours")
    assert free_memory() == 1500
    tell(version, "docker/ours", 1900, 1000, 0)
    assert free_memory() == 900


@pytest.fixture
def eight(tmp_path, monkeypatch):
    """A machine with eight cores, of two threads each, and no groups; gives the groups' folder."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 16 if logical else 8)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN", tmp_path / "own")
    return tmp_path


def test_two_threads_of_a_core_are_one_and_a_process_kept_to_some_has_those(eight, monkeypatch):
    assert cores() == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    assert cores() == 3


def test_what_the_libraries_are_told_counts(eight, monkeypatch):
    for told, found in {"2": 2, "4,1": 4, "64": 8, "0": 1, "x": 8}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert (told, cores()) == (told, found)


def test_a_container_has_the_cores_that_its_limit_leaves(eight):
    (eight / "own").write_text("0::/docker/ours\n")
    v1 = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"
    for files, found in (
        ({"cpu.max": "250000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({v1[0]: "300000\n", v1[1]: "100000\n"}, 3),
        ({v1[0]: "-1\n", v1[1]: "100000\n"}, 8),
        ({"docker/ours/cpu.max": "500000 100000\n", "docker/cpu.max": "400000 100000\n"}, 4),
    ):
        shutil.rmtree(eight / "groups", ignore_errors=True)
        for name, content in files.items():
            path = eight / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        assert cores() == found, files
