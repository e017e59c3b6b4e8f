"""Where whoever runs the app sees its jobs, and ends them: `coupling jobs`.

By small files in a folder of the store that the app's own user alone can open, so that nothing
listens. While it has jobs, an app writes them down every second; a name in that folder asks for the
end of one. What is as old as `SILENT` was left behind by an app that is gone.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.writing import write_quietly, writing
from coupling_core.serving.jobs import JobStatus

FOLDER = ".jobs"
OWN = 0o700
"""Of the folder: for its owner alone."""

SILENT = 15.0
"""Seconds after which an app that wrote down its jobs every second is no longer believed to run."""

LONGEST = 2**20
"""Bytes of such a file that are read at most: a thousand jobs take less."""

_SHOWN, _END = ".json", ".end"


class Desk:
    """An app's own side.

    Args:
        store: folder of the store.
    """

    def __init__(self, store: Path) -> None:
        self._folder = store / FOLDER
        self._name = uuid4().hex  # numbers of processes are the same in every container
        for path in _files(self._folder, "*"):
            with suppress(OSError):
                if not _is_fresh(path):
                    path.unlink()

    def show(self, active: Iterable[JobStatus]) -> None:
        """Write down the jobs under way; nothing where there are none, or it cannot be written."""
        path = self._folder / f"{self._name}{_SHOWN}"
        rows = [_row(status) for status in active]
        with suppress(OSError):
            if rows:
                self._folder.mkdir(OWN, parents=True, exist_ok=True)
                write_quietly(path, json.dumps(rows))
            else:
                path.unlink(missing_ok=True)

    def asked(self) -> list[str]:
        """Keys of the jobs that shall end, each told once."""
        found = []
        for path in _files(self._folder, f"{self._name}.*{_END}"):
            with suppress(OSError):
                path.unlink()
                found.append(path.name.removeprefix(f"{self._name}.").removesuffix(_END))
        return found


def jobs(store: Path) -> list[Mapping[str, Any]]:
    """The jobs of all apps that run with a store, as they were within the last seconds."""
    return [row for rows in _shown(store).values() for row in rows]


def end(store: Path, key: str) -> None:
    """Have every app with this store end a job, and wait until none has it any more."""
    asked = [name for name, rows in _shown(store).items() if any(row["key"] == key for row in rows)]
    if not asked:
        raise InputError(f"no job {key!r} is under way here: `coupling jobs` lists those that are")
    for name in asked:
        path = store / FOLDER / f"{name}.{key}{_END}"
        with writing(path, "end the job as the user that runs the app"):
            path.touch()
    deadline = time.monotonic() + SILENT
    while any(row["key"] == key for row in jobs(store)):
        if time.monotonic() > deadline:
            raise ComputeError(
                f"the app did not end the job {key} within {SILENT:.0f} s: run `coupling "
                "health`, and restart the app if it says that something is wrong"
            )
        time.sleep(0.1)


def _shown(store: Path) -> dict[str, list[Mapping[str, Any]]]:
    """What each app has written down, by its name."""
    folder, found = store / FOLDER, {}
    if os.access(folder, os.F_OK) and not os.access(folder, os.R_OK | os.X_OK):
        raise InputError(f"{folder} belongs to the user that runs the app: be that user, or root")
    for path in _files(folder, f"*{_SHOWN}"):
        with suppress(OSError, ValueError):
            if _is_fresh(path):
                with path.open("rb") as file:
                    found[path.name.removesuffix(_SHOWN)] = json.loads(file.read(LONGEST))
    return found


def _is_fresh(path: Path) -> bool:
    """Whether an app that runs may have written a file, and not one that is gone."""
    return time.time() - path.stat().st_mtime < SILENT


def _files(folder: Path, pattern: str) -> list[Path]:
    """Files by name, in order; none where there is no such folder."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except (OSError, ValueError):  # its name is too long, or none
        return []


def _row(status: JobStatus) -> Mapping[str, Any]:
    """A job as an operator sees it: neither its prompt nor who asked."""
    request, progress = status.request, status.progress
    far, stage = status.prompts or progress, progress.stage if progress else ""
    return {
        "key": status.key,
        "state": status.state,
        "place": status.place,
        "model": request.model,
        "revision": request.revision,
        "kind": request.kind_words,
        "seconds": round(status.seconds, 1),
        "stage": "prompts" if status.prompts else stage,
        "done": far.done if far else 0,
        "total": far.total if far else 0,
        "owners": status.owners,
        "whose": list(status.whose),
    }
