"""The forward pass of a stored result, run again in a process of its own.

The page looks at it time and again, as it does at jobs: nobody waits for a model to be loaded. The
process is not that of the jobs, whose model must not be run by two at once.
"""

from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Thread

import streamlit as st

from coupling_core.base.errors import CouplingError
from coupling_core.measuring.recheck import OLDER, Recheck, recheck
from coupling_core.measuring.worker import Worker
from coupling_core.store.disk import Entry, Store
from explorer.server import backend
from explorer.session.plain_text import sentence
from explorer.session.session import device

_EVERY = 0.5
"""Seconds between two looks at it."""


@dataclass
class _Run:
    """A recheck that was begun.

    Args:
        entry: the result.
        store: where it is.
        device: where to compute; None is the best device.
    """

    entry: Entry
    store: Store
    device: str | None
    worker: Worker = field(default_factory=Worker)
    found: Future[Recheck] = field(default_factory=Future)

    def begin(self) -> None:
        Thread(target=self._do, name="rechecking", daemon=True).start()

    def _do(self) -> None:
        work = partial(_rechecked, self.store, self.entry.key, self.device)
        try:
            self.found.set_result(self.worker.call(work, about=self.entry.request))
        except CouplingError as error:  # a damaged file, or the process died
            self.found.set_result(Recheck(self.entry.key, "unknown", why=str(error)))
        except BaseException as error:
            self.found.set_exception(error)
            raise
        finally:
            self.worker.close()


_lock = Lock()
_runs: dict[str, _Run] = {}
"""The last recheck of this server, by the key of its result: each loads a model of its own."""


def show(entry: Entry, asked: bool) -> None:
    """Begin a recheck where it is asked for, and tell what is known of it."""
    if asked and not entry.problem and "passport" not in entry.provenance:
        st.info(sentence(OLDER))
        return
    if asked and not _start(entry):
        st.warning("Another result is being rechecked: wait until that has ended.")
    run = _runs.get(entry.key)
    if run is None:
        return
    if run.found.done():
        found = run.found.result()
        tell = {"unchanged": st.success, "changed": st.warning}.get(found.verdict, st.info)
        tell(sentence(found.words))
        return

    @st.fragment(run_every=_EVERY)
    def follow() -> None:
        if run.found.done():
            st.rerun()
        st.caption("Its prompt is run through its model again…")

    follow()


def _start(entry: Entry) -> bool:
    """Whether there was room for one more: there is one at a time."""
    with _lock:
        if any(not run.found.done() for run in _runs.values()):
            return entry.key in _runs
        _runs.clear()
        _runs[entry.key] = _Run(entry, backend.home(entry), device())
        _runs[entry.key].begin()
        return True


def _rechecked(store: Store, key: str, device: str | None) -> Recheck:
    """Runs there."""
    return recheck(store.get(key), device=device)
