"""What takes all the memory that there is, run in a worker."""

import resource
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import mortal
import numpy as np
import psutil

from coupling_core.base.records import Request
from coupling_core.base.results import Progress, Result
from coupling_core.measuring.measure import measure as really
from coupling_core.measuring.worker import ceiling
from coupling_core.store.disk import Store

WEIGHTS, FREE = 2**26, 2**30
"""Bytes of the file that the model has in these tests, all of them a hole; and what is free."""

Report = Callable[[Progress], None]
_usable, _least = ceiling.usable_memory, ceiling.LEAST


def allow(size: int | None, *, forget: bool = False) -> None:
    """Have so many bytes be all that is free; None gives back what is."""
    if forget:
        from coupling_core.engine import loading

        loading.forget()
    ceiling.usable_memory = _usable if size is None else lambda: size
    ceiling.LEAST = _least if size is None else 0
    ceiling.renew()


def takes(request: Request) -> int:
    """Bytes that a measurement takes at its peak, besides what the process has."""
    first, peak, done = _data(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak.append(_data())

    watcher = threading.Thread(target=watch)
    watcher.start()
    really(request, device="cpu")
    done.set()
    watcher.join()
    return max(2**20, max(peak) - first)


def by_numpy() -> int:
    """One array of 64 GB."""
    return len(np.ones(2**33))


def by_python() -> int:
    """A list that grows."""
    return len([bytearray(2**24) for _ in range(2**12)])


def by_threads() -> bool:
    """A thread that is begun where no byte is left, on the stack that an earlier one had."""
    threads = [threading.Thread(target=time.sleep, args=(0,)) for _ in range(2)]
    threads[0].start()
    threads[0].join()
    allow(0)
    held: list[bytes] = []
    for size in (2**20, 2**12, 2**6):
        with suppress(MemoryError):
            while True:
                held.append(bytes(size))
    with suppress(MemoryError):  # what begins may find no room to go on
        threads[1].start()
    held.clear()
    return threads[1].ident is not None


def limits(request: Request, store: Store, *, device: str | None, progress: Report) -> Result:
    """Tell what the process may take beyond what it has: while it loads, and then."""
    allow(FREE)
    seen = []
    for stage in ("loading", "tracing"):
        progress(Progress(stage))
        seen.append(resource.getrlimit(resource.RLIMIT_DATA)[0] - _data())
    progress(Progress("blocks", note=f"{seen[0]} {seen[1]}"))
    return mortal.measure(request, store, device=device, progress=progress)


def fill_and_die(request: Request, store: Store, *, device: str | None, progress: Report) -> Result:
    """Take nearly all, and die as a library does that has no memory for the rest."""
    allow(2**27)
    held = np.ones(2**24 - 2**18)
    progress(Progress("blocks", 1, 10**6, note=str(len(held))))
    time.sleep(0.5)  # until it was seen
    signal.raise_signal(signal.SIGSEGV)
    raise AssertionError


def _data() -> int:
    return psutil.Process().memory_info().data
