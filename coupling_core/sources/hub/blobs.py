"""One large file's content, fetched so that a stop loses nothing: the next attempt goes on from it.

The hub's client begins a half-fetched file anew, and its faster way (xet) runs outside Python,
where nothing stops it. So large files come through here, into the place where the client looks for
their content; all else of the cache is left to the client.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.sources.hub import cache
from coupling_core.sources.hub.asking import TIMEOUT

_ATTEMPTS = 5
"""How often in a row a connection may break before anything arrives."""

_WAIT = 1.0
"""Seconds before the next attempt, and between two looks whether another process is done."""


class StoppedError(Exception):
    """Ends a thread that fetches; nobody outside sees it."""


def fetch(repo: str, commit: str, name: str, sha256: str, size: int, stop: threading.Event) -> None:
    """Fetch a file's content into the cache's blobs, from where the last attempt ended.

    The sha256 of the content is also its name among the blobs. Raises `StoppedError` where it is
    told to stop, and `ComputeError` where what arrives is not the file.
    """
    blob = cache.repository(repo) / "blobs" / sha256
    part = cache.part(repo, sha256)
    blob.parent.mkdir(parents=True, exist_ok=True)
    with _locked(repo, sha256, stop):
        if blob.is_file():
            return
        left = _ATTEMPTS
        while (before := _size(part)) < size:
            try:
                _append(repo, commit, name, part, stop)
            except Exception as error:  # the client's network errors share no base class
                left = _ATTEMPTS if _size(part) > before else left - 1
                if stop.is_set() or stop.wait(_WAIT):
                    raise StoppedError from error
                if left == 0 or not type(error).__module__.startswith("httpx"):
                    raise
        _finish(part, blob, name, sha256)


def _append(repo: str, commit: str, name: str, part: Path, stop: threading.Event) -> None:
    from huggingface_hub import get_session, hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

    url = hf_hub_url(repo, name, revision=commit)
    headers: dict[str, Any] = build_hf_headers() | {
        "Range": f"bytes={_size(part)}-",
        "Accept-Encoding": "identity",
    }
    with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
        hf_raise_for_status(response)
        # A server that ignores the range sends the whole.
        with part.open("ab" if response.status_code == 206 else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                if stop.is_set():
                    raise StoppedError


def _finish(part: Path, blob: Path, name: str, sha256: str) -> None:
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        part.unlink()
        raise ComputeError(
            f"{name} arrived with sha256 {found[:12]}… instead of {sha256[:12]}…, and was thrown "
            "away: try again"
        )
    part.replace(blob)


@contextmanager
def _locked(repo: str, sha256: str, stop: threading.Event) -> Iterator[None]:
    """Keep other processes from the same part, by the lock that the hub's client takes too."""
    from huggingface_hub.utils import WeakFileLock

    path = cache.root() / ".locks" / cache.repository(repo).name / f"{sha256}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        while True:
            if stop.is_set():
                raise StoppedError
            with suppress(TimeoutError):
                held.enter_context(WeakFileLock(path, timeout=_WAIT))
                break
        yield


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
