"""How many cores of the processor this process may use, told without torch."""

import os
from collections.abc import Iterator

import psutil

from coupling_core.base.memory import groups


def cores() -> int:
    """Cores on which this process may compute: limits of a container and OMP_NUM_THREADS count.

    Two threads of one core are one, since products of matrices leave nothing to the second.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:  # macOS
        allowed = os.cpu_count() or 1
    there = psutil.cpu_count(logical=False) or allowed
    return int(max(1, min(allowed, there, *_shares(), *_told())))


def _told() -> Iterator[int]:
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # one number a level
    if first.isdigit():
        yield int(first)


def _shares() -> Iterator[float]:
    """How many processors' time the control groups of this process may take, those that say so."""
    for folder in groups(""):
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            yield float(quota) / float(period)
        except (OSError, ValueError):  # "max" is no limit
            continue
    for folder in groups("cpu"):
        try:
            quota, period = (
                (folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
            )
        except OSError:
            continue
        if float(quota) > 0:  # -1 is no limit
            yield float(quota) / float(period)
