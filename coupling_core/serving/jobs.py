"""Jobs: measurements that run behind whoever asked, one at a time.

Whoever asks for the same thing joins the same job. Addresses take turns, and so do the owners of
one address: nobody is kept waiting by one who queued a hundred jobs, nor by one who opened a
hundred tabs, and one owner's jobs stay in their order. A job stops at its next step once nobody
waits for it any more, and what a stopped or failed job had finished is kept.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from secrets import token_bytes
from typing import Literal

from coupling_core.base.errors import Cancelled, CouplingError, InputError
from coupling_core.base.memory import is_out_of_memory
from coupling_core.base.records import Request
from coupling_core.base.results import Progress, Result
from coupling_core.base.units import counted
from coupling_core.measuring.borrowing import Borrower, forget
from coupling_core.measuring.measure import REMEDY, find_stored, measure
from coupling_core.serving.heartbeat import Heartbeat
from coupling_core.serving.lists import Course, Prompts, list_key
from coupling_core.sources.resolved import Resolved
from coupling_core.store.disk import Store

State = Literal["queued", "running", "done", "failed", "cancelled"]

KEPT = 32
"""How many ended jobs are remembered; one that did not end well may hold a partial result."""

HOUR = 3600.0
OWNERS = 1000
"""How many turns of owners and of addresses are remembered, the latest."""

CLASS = 30
"""As how many owners an address counts, where they have a limit: a class comes from one address."""

ACTIVE: tuple[State, ...] = ("queued", "running")
ENDED = "whoever runs this app has ended this measurement"
_DIED = (
    "the worker died while it measured this; the program's log has the details, and another worker "
    "has taken its place: try again"
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobStatus:
    """Where a job stands, at the moment of asking.

    Args:
        key: of the job: the store key of its request; of a list, that of all of them.
        request: what was asked, by whoever asked first; of a list, its first.
        state: running and queued jobs are active, the others have ended.
        place: in the queue: 0 is running (or ended), 1 is next.
        progress: the last that was told of it; its partial result stays where the job was
            cancelled or failed, and goes where the store has all of it.
        error: why it failed, or who ended it, in plain words.
        seconds: running time so far, 0 while it is queued.
        owners: how many wait for it.
        stored: key under which the store has the answer, "" until it does; a larger result that
            was there before has a key of its own.
        whose: of each address, or owner without one, that waits, a word that tells them apart and
            nothing else of them.
        prompts: how far a list of prompts is; None of a job that is none.
    """

    key: str
    request: Request
    state: State
    place: int = 0
    progress: Progress | None = None
    error: str = ""
    seconds: float = 0.0
    owners: int = 0
    stored: str = ""
    whose: tuple[str, ...] = ()
    prompts: Prompts | None = None


@dataclass(frozen=True)
class Limits:
    """What is not taken on; None is no limit.

    An address may have of each as much as `CLASS` owners, and of the queue at most half.

    Args:
        waiting: jobs in the queue.
        per_owner: jobs that one owner may have queued or running.
        per_hour: jobs that one owner may start in an hour; to join another's costs nothing.
        list_seconds: that a list of prompts, which is one job, may take in all.
    """

    waiting: int | None = None
    per_owner: int | None = None
    per_hour: int | None = None
    list_seconds: float | None = None


@dataclass(eq=False)
class _Job:
    """A job as its queue sees it; changed under the lock only."""

    key: str
    request: Request
    device: str | None = None
    keep: bool = True
    owners: dict[str, str] = field(default_factory=dict)  # each with an address, or ""
    state: State = "queued"
    progress: Progress | None = None
    error: str = ""
    started: float = 0.0
    ended: float = 0.0
    stored: str = ""
    listed: tuple[Resolved, ...] = ()  # of a list of prompts, all of them
    prompts: Prompts | None = None


class Jobs:
    """A queue and its worker, which measures one thing at a time; safe to call from any thread.

    Args:
        store: where answers are looked up and put.
        measure: does the work: called as `measure(request, store, device=..., progress=...)`, here
            or in a process of its own, as `Worker.measure` does it. What it tells again is no news:
            it asks whether anybody waits.
        limits: what is refused.
        forget: has it let go of a model, by hub id and commit.
    """

    def __init__(
        self,
        store: Store,
        measure: Callable[..., Result] = measure,
        limits: Limits | None = None,
        forget: Callable[[str, str], None] = forget,
    ) -> None:
        self._store = store
        self._measure = measure
        self._limits = limits or Limits()
        self._borrower = Borrower(measure, forget)
        self._heartbeat = Heartbeat(store.root)
        self._lock = threading.Lock()
        self._running: _Job | None = None
        self._queue: list[_Job] = []  # in the order of coming
        self._ahead: list[_Job] | None = None  # in the order of their turns, once that is asked for
        self._turns: dict[str, int] = {}  # of owners and of addresses, the latest last
        self._started: dict[str, deque[float]] = {}  # when each of them started jobs
        self._salt = token_bytes()
        self._jobs: dict[str, _Job] = {}  # the last job of each key, the oldest first
        self._worker: threading.Thread | None = None

    def submit(
        self,
        asked: Resolved,
        owner: str,
        device: str | None = None,
        *,
        keep: bool = True,
        address: str = "",
    ) -> JobStatus:
        """Ask for a result: join the job that is at it, or queue a new one.

        Args:
            asked: what to measure.
            owner: who waits for it, for instance a browser session.
            device: where a new job computes; None takes the best. It is no part of what is asked:
                who comes later joins a job on any device.
            keep: whether weights that are fetched for it stay on this disk. Else they are deleted
                once the queue comes to another model, or to its end.
            address: where the owner comes from, which others may share; "" where owners are
                persons, whom nothing else needs to tell apart.

        Returns:
            The job's status; done at once where the store has the answer.

        Raises:
            InputError: where a limit is reached.
        """
        key = self._store.key(asked.request, asked.identity)
        found = find_stored(asked, self._store)  # reads a file: not under the lock
        return self._take_on(_Job(key, asked.request, device, keep), found, owner, address)

    def submit_list(
        self,
        asked: Sequence[Resolved],
        owner: str,
        device: str | None = None,
        *,
        address: str = "",
    ) -> JobStatus:
        """Ask for the results of a list of prompts, as one job; the rest is as `submit` has it."""
        key = list_key(self._store.key(one.request, one.identity) for one in asked)
        prompts = Prompts(0, len(asked))
        job = _Job(key, asked[0].request, device, listed=tuple(asked), prompts=prompts)
        return self._take_on(job, None, owner, address)

    def _take_on(self, new: _Job, found: Result | None, owner: str, address: str) -> JobStatus:
        with self._lock:
            self._tend()
            job = self._active(new.key)
            if is_new := job is None:
                if found is None:
                    self._admit(owner, address)
                job = self._add(new, found)
            job.keep |= new.keep
            job.owners[owner] = address
            self._ahead = None
            status = self._status(job)
            if is_new and found is None:
                _tell(status)
            return status

    def status(self, key: str) -> JobStatus | None:
        """Where the last job with this key stands; None where there is none, or none any more."""
        with self._lock:
            self._tend()
            job = self._jobs.get(key)
            return self._status(job) if job else None

    def leave(self, key: str, owner: str) -> None:
        """Wait no longer; what nobody waits for is cancelled, a running job at its next step."""
        with self._lock:
            job = self._active(key)
            if job is None or owner not in job.owners:
                return
            del job.owners[owner]
            self._stop_unwanted(job)

    def end(self, key: str) -> bool:
        """End a job, whoever waits for it; whether there was one."""
        with self._lock:
            job = self._active(key)
            if job is None:
                return False
            job.owners.clear()
            job.error = ENDED
            self._stop_unwanted(job)
            # Said at once also of one that runs, to its next step: nobody may join it any more.
            job.state, job.ended = "cancelled", time.monotonic()
            return True

    def active(self) -> list[JobStatus]:
        """The running job, then the queued ones in their order."""
        with self._lock:
            self._tend()
            return [self._status(job) for job in (*self._under_way(), *self._order())]

    def _stop_unwanted(self, job: _Job) -> None:
        """Take a job out of the queue that nobody waits for; one that runs finds out itself."""
        self._ahead = None
        if not job.owners and job.state == "queued":
            self._queue.remove(job)
            job.state = "cancelled"
            _tell(self._status(job), job.error)

    def _under_way(self) -> list[_Job]:
        return [self._running] if self._running and self._running.state in ACTIVE else []

    def _active(self, key: str) -> _Job | None:
        job = self._jobs.get(key)
        return job if job and job.state in ACTIVE else None

    def _add(self, job: _Job, found: Result | None) -> _Job:
        self._jobs.pop(job.key, None)
        ended = [other.key for other in self._jobs.values() if other.state not in ACTIVE]
        for old in ended[: max(0, len(ended) + 1 - KEPT)]:
            del self._jobs[old]
        self._jobs[job.key] = job
        if found:
            job.state, job.stored = "done", found.key
            return job
        self._queue.append(job)
        if self._worker is None:
            self._start_worker()
        return job

    def _tend(self) -> None:
        """Put another worker in the place of one that died: its job has failed."""
        if self._worker is None or self._worker.is_alive():
            return
        job = self._running
        if job and job.state == "running":
            job.state, job.error, job.ended = "failed", _DIED, time.monotonic()
            _tell(self._status(job), "the worker died")
        self._start_worker()

    def _start_worker(self) -> None:
        self._worker = threading.Thread(target=self._work, name="measuring", daemon=True)
        try:
            self._worker.start()
        except RuntimeError as error:  # no thread to be had: whoever asks next tries again
            _log.error("the worker cannot be started: %s", error)

    def _admit(self, owner: str, address: str) -> None:
        """Refuse a new job beyond the limits, or count it."""
        waiting = self._limits.waiting
        if waiting is not None and len(self._queue) >= waiting:
            raise InputError(
                f"the queue is full: {counted(len(self._queue), 'job')} ahead; try again in a few "
                "minutes, or look at what is stored"
            )
        theirs = sum(address in job.owners.values() for job in self._queue) if address else 0
        if waiting is not None and theirs >= max(waiting // 2, 1):
            raise InputError(
                f"the queue has {counted(theirs, 'job')} from your network address, and no more "
                "are taken on for now: try again in a few minutes, or look at what is stored"
            )
        now = time.monotonic()
        for who, times in ((owner, 1), (address, CLASS)):
            if who:
                self._require_few(who, times)
                self._require_pause(who, times, now)
        if self._limits.per_hour is not None:
            self._note_start((owner, address), now)

    def _require_few(self, who: str, times: int) -> None:
        """Refuse one more job of an owner, or of an address, that has so many times the limit."""
        most = self._limits.per_owner
        active = (*self._under_way(), *self._queue)
        own = sum(who in (*job.owners, *job.owners.values()) for job in active)
        if most is not None and own >= times * most:
            whose = "of your jobs" if times == 1 else "jobs from your network address"
            verb = "is" if own == 1 else "are"
            raise InputError(
                f"{own} {whose} {verb} under way, and no more are taken on at a time: wait for "
                "one to end, or cancel one on the Runs page"
            )

    def _require_pause(self, who: str, times: int, now: float) -> None:
        """Refuse one more job of whoever has begun so many times the hour's limit."""
        most, begun = self._limits.per_hour, self._started.get(who)
        if most is None or not begun:
            return
        while begun and now - begun[0] > HOUR:
            begun.popleft()
        if len(begun) >= times * most:
            wait = math.ceil((HOUR - (now - begun[0])) / 60)
            who = "you have" if times == 1 else "people at your network address have"
            raise InputError(
                f"{who} started {counted(len(begun), 'job')} within the hour, and no more are "
                f"taken on: the next one may start in {wait} min"
            )

    def _note_start(self, starting: tuple[str, str], now: float) -> None:
        for who in filter(None, starting):
            self._started.setdefault(who, deque()).append(now)
        for idle in [who for who, begun in self._started.items() if now - begun[-1] > HOUR]:
            del self._started[idle]

    def _order(self) -> list[_Job]:
        """The queued jobs in the order in which they will run, if nothing changes."""
        if self._ahead is None:
            turns, left, self._ahead = dict(self._turns), list(self._queue), []
            while left:
                self._ahead.append(_take_next(turns, left))
        return self._ahead

    def _status(self, job: _Job) -> JobStatus:
        end = time.monotonic() if job.state == "running" else job.ended
        return JobStatus(
            key=job.key,
            request=job.request,
            state=job.state,
            place=self._order().index(job) + 1 if job.state == "queued" else 0,
            progress=job.progress,
            error=job.error,
            seconds=end - job.started,
            owners=len(job.owners),
            stored=job.stored,
            whose=tuple(sorted({self._word(at or who) for who, at in job.owners.items()})),
            prompts=job.prompts,
        )

    def _word(self, who: str) -> str:
        return blake2b(who.encode(), key=self._salt, digest_size=3).hexdigest()

    def _work(self) -> None:
        while job := self._next():
            self._heartbeat.beat(busy=True)
            try:
                stored = self._of_list(job) if job.listed else self._of_one(job)
            except Cancelled:
                self._end(job, "cancelled", error=job.error, reason=job.error)
            except BaseException as error:  # whatever it is, the worker outlives its job
                is_plain = isinstance(error, CouplingError)
                reason = str(error) if is_plain else type(error).__name__
                self._end(job, "failed", error=_plain_words(error), reason=reason)
            else:
                self._end(job, "done", stored=stored)
        self._heartbeat.beat(busy=False)
        try:
            self._borrower.give_back()
        except CouplingError as error:  # nobody waits any more to be told
            _log.warning("%s", error)

    def _of_one(self, job: _Job) -> str:
        """Measure a job's request; the key of its result."""
        measure = self._measure if job.keep else self._borrower
        report = partial(self._report, job)
        return measure(job.request, self._store, device=job.device, progress=report).key

    def _of_list(self, job: _Job) -> str:
        """Measure a job's prompts, whose results have a key each."""

        def tell(prompts: Prompts) -> None:
            self._heartbeat.beat(busy=True)
            with self._lock:
                job.prompts, job.progress = prompts, None
                _require_wanted(job)

        def report(progress: Progress) -> None:
            self._report(job, progress)
            if progress.stage != "saving":
                course.require_time()

        def measure(asked: Resolved) -> None:
            self._measure(asked.request, self._store, device=job.device, progress=report)

        def is_stored(asked: Resolved) -> bool:
            return find_stored(asked, self._store) is not None

        course = Course(job.listed, is_stored, tell, self._limits.list_seconds)
        course.run(measure)
        return ""

    def _next(self) -> _Job | None:
        with self._lock:
            self._running = _take_next(self._turns, self._queue) if self._queue else None
            self._ahead = None
            if self._running:
                self._running.state = "running"
                self._running.started = time.monotonic()
                _tell(self._status(self._running))
            else:
                self._worker = None  # the next job starts another
            return self._running

    def _report(self, job: _Job, progress: Progress) -> None:
        if progress is not job.progress:
            self._heartbeat.beat(busy=True)
        with self._lock:
            job.progress = progress
            # What is being saved is finished: to throw it away would spare nothing.
            if progress.stage != "saving":
                _require_wanted(job)

    def _end(
        self, job: _Job, state: State, *, error: str = "", stored: str = "", reason: str = ""
    ) -> None:
        with self._lock:
            job.state, job.error, job.stored = state, error, stored
            job.ended = time.monotonic()
            if state == "done" and job.progress:
                job.progress = replace(job.progress, partial=None)
            _tell(self._status(job), reason)


def _require_wanted(job: _Job) -> None:
    """Stop a job that nobody waits for."""
    if not job.owners:
        # Said at once: whoever asks while the measurement unwinds gets a job of his own.
        job.state, job.ended = "cancelled", time.monotonic()
        raise Cancelled("nobody waits for this measurement any more")


def _take_next(turns: dict[str, int], queue: list[_Job]) -> _Job:
    """Take out the job whose turn it is, and note that its owners and addresses had their turn."""
    job = min(queue, key=lambda job: min(_turn(turns, *who) for who in job.owners.items()))
    queue.remove(job)
    latest = max(turns.values(), default=0)
    for who in filter(None, (*job.owners, *job.owners.values())):
        turns.pop(who, None)
        turns[who] = latest + 1
    while len(turns) > OWNERS:
        del turns[next(iter(turns))]
    return job


def _turn(turns: dict[str, int], owner: str, address: str) -> tuple[int, int]:
    """When an owner's address last had its turn, and when the owner had."""
    return turns.get(address or owner, 0), turns.get(owner, 0)


def _tell(status: JobStatus, reason: str = "") -> None:
    """A line of the log, which names neither the prompt nor who asked.

    Nor is an error quoted that nobody foresaw: it may quote the prompt.
    """
    fields: dict[str, object] = {
        "key": status.key,
        "model": status.request.model,
        "revision": status.request.revision,
        "kind": status.request.kind,
        "seconds": round(status.seconds, 3),
        "owners": status.owners,
    }
    if status.prompts:
        fields["prompts"] = status.prompts.total
    if reason:
        fields["reason"] = reason
    event = "started" if status.state == "running" else status.state
    _log.info("job %s", event, extra=fields)


def _plain_words(error: BaseException) -> str:
    if isinstance(error, CouplingError):
        return str(error)
    if is_out_of_memory(error):
        return f"memory ran out while measuring: {REMEDY}"
    _log.error("A measurement failed", exc_info=error)
    return (
        f"the measurement failed in a way that was not foreseen ({type(error).__name__}: {error}); "
        "the program's log has the details: try again, or report it with them"
    )
