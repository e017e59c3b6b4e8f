"""What other processes do to a store, run by the tests in processes of their own."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from os import pathsep
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import content, random_result
from waiting import end_of

from coupling_core.base.errors import ComputeError
from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Progress
from coupling_core.base.writing import TEMPORARY
from coupling_core.measuring.measure import measure
from coupling_core.serving.heartbeat import problem
from coupling_core.sources.resolved import resolve
from coupling_core.store.archive import encode
from coupling_core.store.disk import Store

ROUNDS = 30
CONTEXT = get_context("forkserver")


def forked(target: Callable[..., None], *args: Any) -> BaseProcess:
    """Begin a process that does this at once, forked from one that has imported what it needs."""
    with pytest.MonkeyPatch.context() as found:  # the one that forks is told no paths otherwise
        found.setenv("PYTHONPATH", pathsep.join(sys.path))
        CONTEXT.set_forkserver_preload(["store_processes"])
        forkserver.ensure_running()
    process = CONTEXT.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def exit_code(process: BaseProcess) -> int | None:
    process.join(60)
    return process.exitcode


def own_store(root: Path, **options: Any) -> Store:
    return Store(root, gallery=root / "no-gallery", **options)


def large_result(seed: int = 99) -> DepthResult:
    return random_result(seed, matrices=np.ones((2, 5, 5, 600, 600), np.float16))


def die_at(occurrence: int, folder: Path, *events: str) -> None:
    """Have this process be killed at the n-th of these events that touches the folder's files."""
    left = [occurrence]

    def kill(name: str, args: tuple[Any, ...]) -> None:
        if name in events and str(folder) in str(args):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)


def put_and_die(root: Path, seed: int, event: str, occurrence: int) -> None:
    result = random_result(seed)
    die_at(occurrence, root, event)
    own_store(root).put(result)


def put_half(root: Path, seed: int, *, dies: bool) -> None:
    """Put a result where only half of it may be written: the kernel kills, or refuses."""
    result = random_result(seed)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(encode(result)) // 2,) * 2)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)
    try:
        own_store(root).put(result)
    except ComputeError as error:
        sys.exit(str(error).count("File too large"))


def put_large_forever(root: Path) -> None:
    result = large_result()
    while True:
        own_store(root).put(result)


def share(root: Path, barrier: Any, seeds: tuple[int, ...], max_bytes: int) -> None:
    """Put, find, list and evict beside other processes that do the same."""
    store = own_store(root, max_bytes=max_bytes)
    results = [random_result(seed) for seed in seeds]
    barrier.wait()
    for turn in range(ROUNDS):
        result = results[turn % len(results)]
        store.put(result)
        found = store.find(result.request, result.identity)
        assert found is None or content(found) == content(result)
        assert not any(entry.problem for entry in store.entries())


def fill_disk(root: Path) -> None:
    """Put results until the disk is full; what was stored stays, and there is room again."""
    store, stored = own_store(root), []

    def put_many() -> None:
        for seed in range(100):
            store.put(random_result(seed))
            stored.append(random_result(seed))

    with pytest.raises(ComputeError, match="No space left"):
        put_many()
    assert stored
    failed = random_result(len(stored))
    assert store.find(failed.request, failed.identity) is None
    assert not list(root.glob(f".*{TEMPORARY}"))
    assert [content(store.get(result.key)) for result in stored] == list(map(content, stored))
    store.remove(stored[0].key)
    store.put(failed)


def read_from_a_disk_that_cannot_be_written(root: Path) -> None:
    """What is stored can be read, and nothing else."""
    store, result = own_store(root), random_result()
    store.put(result)
    subprocess.run(["mount", "-o", "remount,ro", root], check=True)
    assert content(store.get(result.key)) == content(result)
    with pytest.raises(ComputeError, match="Read-only file system"):
        store.put(result)
    with pytest.raises(ComputeError, match="Read-only file system"):
        store.remove(result.key)


def fill_up(path: Path) -> None:
    """Have a file take all the room of a disk."""
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass


def compute_while_the_disk_is_full(root: Path) -> None:
    """Jobs on a disk that is full before they compute, or once they have, or not writable."""
    import tiny  # torch

    from coupling_core.serving.jobs import Jobs

    folder = tiny.folder(root / "model")
    store, ballast = own_store(root / "store"), root / "ballast"
    first, second = (Request(text, model=str(folder), k=4) for text in ("The cat", "The dog"))
    stages, fills = [], False

    def measure_slowly(*args: Any, progress: Callable[..., None], **options: Any) -> Any:
        def report(step: Progress) -> None:
            stages.append(step.stage)
            if step.stage == "saving" and fills:
                fill_up(ballast)
            progress(step)

        return measure(*args, progress=report, **options)

    jobs = Jobs(store, measure_slowly)

    def outcome(request: Request) -> Any:
        status = end_of(jobs, jobs.submit(resolve(request), "ann", "cpu").key)
        while thread := next((t for t in threading.enumerate() if t.name == "measuring"), None):
            thread.join()
        return status

    earlier = store.get(outcome(first).stored)
    stages.clear()

    def fails(*words: str) -> Any:
        failed = outcome(second)
        assert failed.state == "failed"
        assert [word for word in words if word not in failed.error] == []
        assert content(store.find(first, earlier.identity)) == content(earlier)
        assert [entry.key for entry in store.entries()] == [earlier.key]
        return failed

    def nothing_is_left() -> None:
        assert not list(store.root.glob(f".*{TEMPORARY}"))
        assert problem(store) == ""

    fill_up(ballast)
    fails("No space left", "free some space")
    assert stages == []
    nothing_is_left()
    ballast.unlink()

    fills = True
    failed = fails("No space left")
    assert stages[-1] == "saving"
    assert failed.progress.partial.complete
    nothing_is_left()
    ballast.unlink()
    fills = False

    subprocess.run(["mount", "-o", "remount,ro", root], check=True)
    fails("Read-only file system): set COUPLING_STORE to a folder that you may")
    subprocess.run(["mount", "-o", "remount,rw", root], check=True)
    nothing_is_left()

    assert outcome(second).state == "done"
    assert len(store.entries()) == 2


def on_a_small_disk(root: Path, function: Callable[[Path], None], size: str = "64k") -> None:
    """Run a function in a process that sees a small disk at root, and that nobody else sees."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; import pathlib, store_processes; "
        f"store_processes.{function.__name__}(pathlib.Path({str(root)!r}))"
    )
    script = f'mount -t tmpfs -o size={size} tmpfs "$1" || exit 77; exec "$2" -c "$3"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    ran = subprocess.run(
        [*command, str(root), sys.executable, code], capture_output=True, text=True, timeout=120
    )
    if ran.returncode == 77 or ran.stderr.startswith("unshare:"):
        pytest.skip(f"no disk can be mounted here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
