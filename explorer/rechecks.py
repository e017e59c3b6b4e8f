"""The forward pass of a stored result, run again in a process of its own.

The page looks at that process time and again, as it does at jobs: nobody waits for a model to be
loaded, and nothing here ends with it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

import streamlit as st

from coupling_core.recheck import OLDER
from coupling_core.store import Entry
from explorer import backend
from explorer.session import device
from explorer.text import sentence

_EVERY = 0.5
"""Seconds between two looks at the process."""
_ROOT = Path(__file__).parents[1]


@dataclass
class _Run:
    """A recheck that was begun.

    Args:
        command: that does it, and says what it found as JSON.
    """

    command: list[str]
    said: IO[bytes] = field(default_factory=TemporaryFile)
    complained: IO[bytes] = field(default_factory=TemporaryFile)

    def __post_init__(self) -> None:
        path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | {"PYTHONPATH": path},
            stdout=self.said,
            stderr=self.complained,
        )

    @property
    def is_under_way(self) -> bool:
        return self.process.poll() is None

    def found(self) -> dict[str, Any]:
        """What it found; of one that broke off, why."""
        self.said.seek(0)
        if said := self.said.read():
            return json.loads(said)[0]
        self.complained.seek(0)
        lines = self.complained.read().decode(errors="replace").splitlines()
        why = lines[-1].removeprefix("error: ") if lines else "it was ended from outside"
        return {"verdict": "unknown", "words": f"it broke off: {why}"}


_lock = Lock()
_runs: dict[str, _Run] = {}
"""The last recheck of this server, by the key of its result: each loads a model of its own."""


def show(entry: Entry, asked: bool) -> None:
    """Begin a recheck where it is asked for, and tell what is known of it.

    Args:
        entry: the result.
        asked: whether to begin one.
    """
    if asked and not entry.problem and "passport" not in entry.provenance:
        st.info(sentence(OLDER))
        return
    if asked and not _start(entry):
        st.warning("Another result is being rechecked: wait until that has ended.")
    run = _runs.get(entry.key)
    if run is None:
        return
    if not run.is_under_way:
        found = run.found()
        tell = {"unchanged": st.success, "changed": st.warning}.get(found["verdict"], st.info)
        tell(sentence(found["words"]))
        return

    @st.fragment(run_every=_EVERY)
    def follow() -> None:
        if not run.is_under_way:
            st.rerun()
        st.caption("Its prompt is run through its model again…")

    follow()


def _start(entry: Entry) -> bool:
    """Whether there was room for one more: there is one at a time."""
    with _lock:
        if any(run.is_under_way for run in _runs.values()):
            return entry.key in _runs
        _runs.clear()
        _runs[entry.key] = _Run(_command(entry))
        return True


def _command(entry: Entry) -> list[str]:
    own = [sys.executable, "-m", "coupling_core", "runs", "recheck", entry.key, "--json"]
    on = ["--device", chosen] if (chosen := device()) else []
    return [*own, "--store", str(backend.home(entry).root.absolute()), *on]
