"""What glibc does with memory that is freed, told in processes of their own."""

import subprocess
import sys

import pytest

from coupling_core.base import allocator

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's"),
    pytest.mark.skipif(allocator._glibc() is None, reason="another allocator"),
]

SCATTERED = """
import psutil
from coupling_core.base.allocator import give_back
rss = lambda: psutil.Process().memory_info().rss
before = rss()
parts = [bytes([1]) * 100_000 for _ in range(1000)]
last = bytes([1]) * 100_000
del parts
free = rss() - before
give_back()
print(free, rss() - before)
"""
FAULTS = """
import resource, sys
from coupling_core.base.allocator import keep_freed
if sys.argv[1] == "keep":
    keep_freed()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
used = lambda: bytes([1]) * (20 << 20)
used()
before = faults()
for _ in range(20):
    used()
print(faults() - before)
"""


def run(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, check=True
    )
    return [int(number) for number in done.stdout.split()]


def test_what_lies_free_in_between_is_given_back():
    free, left = run(SCATTERED)
    assert free > 80_000_000  # else there is nothing to give back, and this shows nothing
    assert left < 20_000_000


def test_what_is_kept_is_not_asked_for_again():
    (anew,), (kept,) = run(FAULTS, "no"), run(FAULTS, "keep")
    assert kept < 20  # pages, of 5,000 in each of 20 rounds
    assert anew > 20 * kept  # else the allocator kept them by itself, and this shows nothing
