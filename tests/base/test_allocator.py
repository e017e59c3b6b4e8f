"""What glibc does with memory that is freed: told in a process of its own."""

import subprocess
import sys

import pytest

from coupling_core.base import allocator

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's"),
    pytest.mark.skipif(allocator._glibc() is None, reason="another allocator"),
]

USED = """
import psutil, resource, sys
from coupling_core.base.allocator import give_back, keep_freed
rss = lambda: psutil.Process().memory_info().rss
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def rounds():
    before = faults()
    for _ in range(20):
        bytes([1]) * (20 << 20)
    return faults() - before

rounds()
anew = rounds()
keep_freed()
rounds()
kept = rounds()
before = rss()
parts = [bytes([1]) * 100_000 for _ in range(2000)]
last = bytes([1]) * 100_000
del parts
free = rss() - before
give_back()
print(anew, kept, free, rss() - before)
"""


def test_what_is_kept_is_not_asked_for_again_and_what_is_free_is_given_back():
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, check=True)
    anew, kept, free, left = map(int, done.stdout.split())
    assert kept < 20  # pages, of 5,000 in each of 20 rounds
    assert anew > 20 * kept  # else the allocator kept them by itself, and this shows nothing
    assert free > 80_000_000  # else there is nothing to give back, and this shows nothing
    assert left < 20_000_000
