"""Weights that are on this disk only while they are measured.

All checkpoints of a large training run would fill any disk. So they come one at a time: fetched
from the hub, measured, and deleted once another one is asked for. What was on the disk before
stays there, and so do the suites that are trained here.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from coupling_core.base.records import Request
from coupling_core.base.results import Result
from coupling_core.measuring.measure import Report, measure
from coupling_core.sources import hub
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store


@dataclass(frozen=True)
class _Loan:
    """A commit of a repository, and what was here of its weights before."""

    repo: str
    commit: str
    before: frozenset[Path]


def forget(repo: str, commit: str) -> None:
    """Have this process let go of a model, and of the files that it keeps open."""
    from coupling_core.engine import loading  # torch, which fetched them

    loading.forget(repo, commit)


class Borrower:
    """Measures as `measure` does, and deletes the weights that were fetched for it.

    They stay until another model is asked for, so that one checkpoint can be measured in several
    ways, or until the `with` block ends. Safe to call from any thread.

    Args:
        measure: does the work.
        forget: has whoever did it let go of a model and its files, by hub id and commit.
    """

    def __init__(
        self,
        measure: Callable[..., Result] = measure,
        forget: Callable[[str, str], None] = forget,
    ) -> None:
        self._measure, self._forget = measure, forget
        self._lock = threading.Lock()
        self._loan: _Loan | None = None

    def __enter__(self) -> "Borrower":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.give_back()

    def __call__(
        self,
        request: Request,
        store: Store | None = None,
        *,
        device: str | None = None,
        progress: Report | None = None,
    ) -> Result:
        """Answer a request; arguments and errors are those of `measure`."""
        with self._lock:
            self._borrow(request)
            return self._measure(request, store, device=device, progress=progress)

    def give_back(self) -> None:
        """Delete what was fetched."""
        with self._lock:
            self._give_back()

    def _borrow(self, request: Request) -> None:
        source = resolve(request).files
        repo, commit = source.location, source.digest
        if self._loan and (self._loan.repo, self._loan.commit) == (repo, commit):
            return
        self._give_back()
        if source.kind == "hub" and not hub.cache.is_own(repo):
            self._loan = _Loan(repo, commit, hub.weights_here(repo))

    def _give_back(self) -> None:
        loan, self._loan = self._loan, None
        if loan is None or not hub.weights_since(loan.repo, loan.commit, loan.before):
            return
        self._forget(loan.repo, loan.commit)  # a file that is open keeps its place on the disk
        hub.remove_weights(loan.repo, loan.commit, loan.before)
