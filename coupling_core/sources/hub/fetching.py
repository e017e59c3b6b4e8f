"""Bringing a model to this disk: watched, stopped at any moment, and gone on with later."""

import glob
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from coupling_core.base.results import Progress
from coupling_core.sources.hub import blobs, cache
from coupling_core.sources.hub.asking import TIMEOUT, asking
from coupling_core.sources.hub.planning import Download, RemoteFile, plan, silent_bar

Report = Callable[[Progress], None]

_EVERY = 0.2
"""Seconds between two looks at what has arrived."""

_WORKERS = 4
"""Large files fetched at a time."""


def download(repo: str, commit: str, report: Report, revision: str | None = None) -> Path:
    """Bring a model to this disk.

    What has arrived survives a stop, and is not fetched again. It is told how many bytes have
    arrived, and an exception that it raises stops the download. By the branch or tag that led to
    the commit it will be found offline.
    """
    todo = plan(repo, commit)
    folder = cache.snapshot(repo, commit)
    if not all((folder / file.name).is_file() for file in todo.files):
        todo.require_room()
        report(Progress("downloading", 0, todo.size, note=str(todo)))
        _fetch(todo, report, revision)
        report(Progress("loading"))
    cache.remember(repo, revision, commit)
    return folder


def _fetch(todo: Download, report: Report, revision: str | None) -> None:
    """Fetch in a thread and watch it from this one, so that a stalled network can be left too."""
    from huggingface_hub import close_session

    stop = threading.Event()
    failed: list[BaseException] = []
    thread = threading.Thread(target=_work, args=(todo, stop, failed), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_EVERY)
            report(Progress("downloading", _arrived(todo), todo.size))
    except BaseException:
        stop.set()
        # A thread that waits for the network sees the flag only when its connection ends.
        close_session()
        thread.join(TIMEOUT)
        raise
    with asking(todo.repo, revision or todo.commit):
        for error in failed:
            raise error


def _work(todo: Download, stop: threading.Event, failed: list[BaseException]) -> None:
    large = [file for file in todo.files if file.is_large]
    try:
        # Weights are linked last, so that whoever finds them finds all the rest.
        _bring(todo, [file for file in todo.files if not file.is_large])
        _fetch_large(todo, [file for file in large if file.here < file.size], stop)
        _bring(todo, large)
    except BaseException as error:  # handed to the thread that watches
        failed.append(error)


def _fetch_large(todo: Download, files: Sequence[RemoteFile], stop: threading.Event) -> None:
    with ThreadPoolExecutor(_WORKERS) as pool:
        tasks = [
            pool.submit(blobs.fetch, todo.repo, todo.commit, file.name, file.etag, file.size, stop)
            for file in files
        ]
        for task in as_completed(tasks):
            if error := task.exception():
                stop.set()  # the others need not go on
                raise error


def _bring(todo: Download, files: Sequence[RemoteFile]) -> None:
    """Have the hub's client fetch small files, and link large ones whose content is here."""
    from huggingface_hub import snapshot_download

    snapshot_download(
        todo.repo,
        revision=todo.commit,
        allow_patterns=[glob.escape(file.name) for file in files],
        tqdm_class=silent_bar(),
    )


def _arrived(todo: Download) -> int:
    """Bytes to fetch that have come by now."""
    return sum(
        cache.here(todo.repo, todo.commit, file.name, file.etag, file.size) - file.here
        for file in todo.files
    )
