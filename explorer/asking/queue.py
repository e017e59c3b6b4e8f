"""The queue of measurements, seen from browser sessions.

A refreshed page is a new session, which joins the job of the old one. The old one never says
goodbye, so while there are jobs it is looked time and again which sessions are still open: a job
whose last session has gone ends by itself.

Sessions wait, and persons have limits and turns: who has signed in is one person in all tabs, and a
job goes on while any of them waits. Where nobody signs in, every session is a person, and those of
one network address take their turns together.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from threading import Lock, Thread
from time import sleep

from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.records import Request
from coupling_core.serving.desk import Desk
from coupling_core.serving.jobs import ACTIVE, Jobs, JobStatus
from explorer.server import admission, backend, visitors
from explorer.server.engine import worker
from explorer.server.single import Single
from explorer.session import sign_in
from explorer.session.session import device

EVERY = 1.0
"""Seconds between two looks at who still waits, and at what an operator asks for."""

GONE = 5
"""Looks in a row at which a session is closed, until it is taken to have gone: a connection that
breaks comes back within seconds."""

KEPT = 1000
"""How many jobs' sessions are remembered, the latest asked for."""


class Queue:
    """Jobs, and the sessions that wait for them.

    Args:
        jobs: the worker and its queue.
        desk: where an operator sees and ends jobs.
    """

    def __init__(self, jobs: Jobs, desk: Desk) -> None:
        self._jobs, self._desk = jobs, desk
        self._waiting: dict[str, dict[str, str]] = {}  # by job: the person of each session
        self._left: dict[str, set[str]] = {}
        self._closed: dict[str, int] = {}  # at how many looks each session was
        self._watch: Thread | None = None
        self._lock = Lock()

    def status(self, key: str) -> JobStatus | None:
        """Where a job stands; None where there never was one."""
        return self._jobs.status(key)

    def active(self) -> list[JobStatus]:
        """The running job, then those that wait, in order."""
        return self._jobs.active()

    def join(self, request: Request, *, keep: bool = True) -> JobStatus:
        """Start a measurement for this session, or wait for the one that is under way.

        With `keep`, weights that are fetched for it stay on this disk.
        """
        asked = backend.resolved(request)
        admission.require(asked)
        submit = partial(self._jobs.submit, asked, _person(), device(), keep=keep)
        status = self._join(backend.key(request), submit)
        backend.note_own(status.key)
        return status

    def join_list(self, requests: Sequence[Request]) -> JobStatus:
        """Start to measure a list of prompts as one job, or wait for the one that is under way."""
        asked = [backend.resolved(request) for request in requests]
        if not is_active(self.status(key := backend.list_key(requests))):
            lacking = [one for one in asked if not backend.held(one.request)] or asked[:1]
            _, taken = admission.require_list(lacking, device(), backend.entries())
            if taken < len(lacking):
                raise InputError(
                    f"{len(lacking)} prompts take longer than is allowed here: give {taken} of them"
                )
        status = self._join(key, partial(self._jobs.submit_list, asked, _person(), device()))
        for request in requests:
            backend.note_own(backend.key(request))
        return status

    def _join(self, key: str, submit: Callable[..., JobStatus]) -> JobStatus:
        """Wait for a job that is submitted now."""
        session = _session()
        with self._lock:  # before it is submitted: another tab may stop waiting at this moment
            self._waiting[key] = self._waiting.pop(key, {}) | {session: _person()}
            self._left.get(key, set()).discard(session)
            self._forget()
        try:
            status = submit(address=_address(session))
        except CouplingError:
            with self._lock:
                self._waiting[key].pop(session, None)
            raise
        with self._lock:
            if self._watch is None or not self._watch.is_alive():
                self._watch = Thread(target=self._look_on, name="who waits", daemon=True)
                self._watch.start()
        return status

    def leave(self, key: str) -> None:
        """Stop waiting; the job ends at its next block where no open session waits for it."""
        with self._lock:
            waiting = self._waiting.get(key, {})
            self._drop(key, {s for s in waiting if s == _session() or not _is_open(s)})
            self._left.setdefault(key, set()).add(_session())

    def waits(self, key: str) -> bool:
        """Whether this session waits for a job."""
        return _session() in self._waiting.get(key, ())

    def has_left(self, key: str) -> bool:
        """Whether this session stopped waiting for a job, which others may still wait for."""
        return _session() in self._left.get(key, ())

    def _drop(self, key: str, leaving: Collection[str]) -> None:
        """Have sessions wait no longer, and the persons of whom no other session does."""
        waiting = self._waiting.get(key, {})
        persons = {waiting.pop(session) for session in leaving if session in waiting}
        for person in persons.difference(waiting.values()):
            self._jobs.leave(key, person)

    def _look_on(self) -> None:
        """While there are jobs: end those that nobody waits for, and those that shall end."""
        while self._is_needed():
            sleep(EVERY)
            for key in self._desk.asked():
                self._jobs.end(key)
            with self._lock:
                self._drop_gone()

    def _is_needed(self) -> bool:
        with self._lock:
            active = self._jobs.active()
            self._desk.show(active)
            if not active:
                self._watch = None  # whoever joins after this starts another
            return bool(active)

    def _drop_gone(self) -> None:
        sessions = {session for waiting in self._waiting.values() for session in waiting}
        closed = {session for session in sessions if not _is_open(session)}
        self._closed = {session: self._closed.get(session, 0) + 1 for session in closed}
        gone = {session for session, looks in self._closed.items() if looks >= GONE}
        for key in list(self._waiting) if gone else ():
            self._drop(key, gone)

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
    jobs = Jobs(backend.store(), measure, admission.limits(), worker.forget)
    return Queue(jobs, Desk(backend.store().root))


queue = Single(_make)
"""The queue that all sessions share."""


def is_active(status: JobStatus | None) -> bool:
    """Whether a job is still under way."""
    return status is not None and status.state in ACTIVE


def _session() -> str:
    return visitors.session()


def _person() -> str:
    return sign_in.person() or _session()


def _address(session: str) -> str:
    """Whose sessions take turns together; "" where people sign in, and are known each."""
    return "" if sign_in.person() else visitors.address(session)


def _is_open(session: str) -> bool:
    return visitors.is_open(session)
