"""What the allocator of glibc keeps of memory that was freed; nothing where another one is.

By itself it gives the end of what is free back at once, as soon as it is some megabytes, and has it
again, page by page, for the next product: in two threads these pages were a tenth of a measurement.
What is free in the middle it keeps for ever, in a list for each of many threads: eight lists a
core, each with holes of its own, which grow over hours where every job and every visitor has new
threads. So a process that computes keeps all, and gives it back when it is done; and whatever runs
for long has no more lists than cores.
"""

import ctypes
import sys
from functools import cache
from typing import Any

from coupling_core.base.cores import cores

KEPT = 256 << 20
"""Bytes that are free at the end of a list before they are given back."""

LARGE = 32 << 20
"""Bytes of a block that comes from the system, and goes back to it: the most that glibc takes here,
and where it would end up by itself."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # in glibc's malloc.h


def keep_freed() -> None:
    """Keep what is freed for what comes next: for a process that does nothing but compute."""
    if (glibc := _glibc()) is not None:
        glibc.mallopt(_MMAP_THRESHOLD, LARGE)
        glibc.mallopt(_TRIM_THRESHOLD, KEPT)


def few_lists() -> None:
    """Have threads share as few lists of free memory as cores; before there are any threads."""
    if (glibc := _glibc()) is not None:
        glibc.mallopt(_ARENA_MAX, max(2, cores()))


def give_back() -> None:
    """Give back what is free, wherever it lies."""
    if (glibc := _glibc()) is not None:
        glibc.malloc_trim(0)


@cache
def _glibc() -> Any:
    if sys.platform != "linux":
        return None
    program = ctypes.CDLL(None)
    return program if hasattr(program, "malloc_trim") else None  # musl has none
