"""The queue of measurements, seen from browser sessions.

A refreshed page is a new session, which joins the job of the old one. The old one never says
goodbye, so cancelling counts only the sessions that are still open.

Sessions wait, and persons have limits and turns: who has signed in is one person in all tabs, and a
job goes on while any of them waits. Where nobody signs in, every session is a person.
"""

from functools import partial
from threading import Lock

from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from coupling_core.base.errors import CouplingError
from coupling_core.base.records import Request
from coupling_core.serving.jobs import Jobs, JobStatus
from explorer.server import admission, backend
from explorer.server.engine import worker
from explorer.server.single import Single
from explorer.session import sign_in
from explorer.session.session import device

ACTIVE = ("queued", "running")

KEPT = 1000
"""How many jobs' sessions are remembered, the latest asked for."""


class Queue:
    """Jobs, and the sessions that wait for them.

    Args:
        jobs: the worker and its queue.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._waiting: dict[str, dict[str, str]] = {}  # by job: the person of each session
        self._left: dict[str, set[str]] = {}
        self._lock = Lock()

    def status(self, key: str) -> JobStatus | None:
        """Where a job stands; None where there never was one."""
        return self._jobs.status(key)

    def active(self) -> list[JobStatus]:
        """The running job, then those that wait, in order."""
        return self._jobs.active()

    def join(self, request: Request, *, keep: bool = True) -> JobStatus:
        """Start a measurement for this session, or wait for the one that is under way.

        Args:
            request: what to measure.
            keep: whether weights that are fetched for it stay on this disk.

        Raises:
            InputError: where this app does not take it on, or the request names no model.
            ComputeError: where a hub model is missing, gated or out of reach.
        """
        asked = backend.resolved(request)
        admission.require(asked)
        key, session = backend.key(request), _session()
        with self._lock:  # before it is submitted: another tab may stop waiting at this moment
            self._waiting[key] = self._waiting.pop(key, {}) | {session: _person()}
            self._left.get(key, set()).discard(session)
            self._forget()
        try:
            status = self._jobs.submit(asked, _person(), device(), keep=keep)
        except CouplingError:
            with self._lock:
                self._waiting[key].pop(session, None)
            raise
        backend.note_own(status.key)
        return status

    def leave(self, key: str) -> None:
        """Stop waiting; the job ends at its next block where no open session waits for it."""
        with self._lock:
            waiting = self._waiting.get(key, {})
            leaving = [s for s in waiting if s == _session() or not _is_open(s)]
            persons = {waiting.pop(session) for session in leaving}
            self._left.setdefault(key, set()).add(_session())
            for person in persons.difference(waiting.values()):
                self._jobs.leave(key, person)

    def waits(self, key: str) -> bool:
        """Whether this session waits for a job."""
        return _session() in self._waiting.get(key, ())

    def has_left(self, key: str) -> bool:
        """Whether this session stopped waiting for a job, which others may still wait for."""
        return _session() in self._left.get(key, ())

    def _forget(self) -> None:
        """Drop who waited for the jobs that ended and were asked for longest ago."""
        if len(self._waiting) <= KEPT:
            return
        ended = [key for key in self._waiting if not is_active(self._jobs.status(key))]
        for key in ended[: len(self._waiting) - KEPT]:
            del self._waiting[key]
            self._left.pop(key, None)


def _make() -> Queue:
    measure = partial(worker.measure, by=admission.measure_what_fits)
    return Queue(Jobs(backend.store(), measure, admission.limits(), worker.forget))


queue = Single(_make)
"""The queue that all sessions share."""


def is_active(status: JobStatus | None) -> bool:
    """Whether a job is still under way."""
    return status is not None and status.state in ACTIVE


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _person() -> str:
    return sign_in.person() or _session()


def _is_open(session: str) -> bool:
    return get_instance().is_active_session(session)
