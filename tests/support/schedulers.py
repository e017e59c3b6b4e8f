"""A scheduler of dask with one worker, as somebody would start them by hand."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from sweep_places import python


@contextmanager
def scheduler() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Where it answers, and its process; both end at the end."""
    quiet = ("--no-dashboard", "--host", "127.0.0.1")
    process = python("-m", "distributed.cli.dask_scheduler", "--port", "0", *quiet)
    worker, address = None, ""
    try:
        while not address:
            found = re.search(r"Scheduler at:\s+(tcp://\S+)", process.stderr.readline())
            address = found[1] if found else ""
        one = ("--nthreads", "1", "--nworkers", "1", "--no-nanny")
        worker = python("-m", "distributed.cli.dask_worker", address, *one, *quiet)
        yield address, process
    finally:
        for each in filter(None, (worker, process)):
            each.kill()
            each.communicate()
