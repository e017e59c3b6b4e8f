"""How many cores may be used: what the system, a container and the user leave."""

import os

import psutil
import pytest

from coupling_core.base import memory
from coupling_core.base.cores import cores


@pytest.fixture(autouse=True)
def eight(tmp_path, monkeypatch):
    """A machine with eight cores, of two threads each, and no groups; gives the groups' folder."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 16 if logical else 8)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN", tmp_path / "own")
    return tmp_path


def test_two_threads_of_a_core_are_one_and_a_process_kept_to_some_has_those(monkeypatch):
    assert cores() == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    assert cores() == 3


def test_what_the_libraries_are_told_counts(monkeypatch):
    for told, found in {"2": 2, "4,1": 4, "64": 8, "0": 1, "x": 8}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert (told, cores()) == (told, found)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"cpu.max": "250000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, 8),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"docker/ours/cpu.max": "500000 100000\n", "docker/cpu.max": "400000 100000\n"}, 4),
    ],
)
def test_a_container_has_what_its_limit_leaves(eight, files, found):
    (eight / "own").write_text("0::/docker/ours\n")
    for name, content in files.items():
        path = eight / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert cores() == found
