"""A lane beside the queue of measurements, for work that is its own thing: one at a time.

What is asked for by a name runs behind whoever asked, and is remembered by that name when it has
ended.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from coupling_core.base.errors import Cancelled, CouplingError, refuse
from coupling_core.base.results import Progress
from coupling_core.serving.jobs import ACTIVE, KEPT, State

Work = Callable[[Callable[[Progress], None]], object]
"""Does it, and tells how far it is; what telling raises ends it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Turn:
    """Where work stands, at the moment of asking.

    Args:
        name: of it.
        state: running and queued work is active, all other has ended.
        ahead: how many run before it.
        progress: the last that was told of it; it stays when it has ended.
        error: why it failed, in plain words.
        seconds: running time so far.
    """

    name: str
    state: State
    ahead: int = 0
    progress: Progress | None = None
    error: str = ""
    seconds: float = 0.0

    @property
    def is_active(self) -> bool:
        """Whether it has still to end."""
        return self.state in ACTIVE


@dataclass(eq=False)
class _Job:
    name: str
    work: Work
    owner: str
    state: State = "queued"
    progress: Progress | None = None
    error: str = ""
    started: float = 0.0
    ended: float = 0.0
    unwanted: bool = False


class Lane:
    """Runs one thing at a time; safe to call from any thread.

    Args:
        waiting: how many may wait for their turn.
    """

    def __init__(self, waiting: int) -> None:
        self._most = waiting
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._running = False

    def submit(self, name: str, work: Work, owner: str) -> None:
        """Have something done."""
        with self._lock:
            active = [job for job in self._jobs.values() if job.state in ACTIVE]
            names, owners = ({getattr(job, of) for job in active} for of in ("name", "owner"))
            refuse(
                (name in names, f"{name!r} trains already: choose another name"),
                (owner in owners, "a model of yours trains already: wait for it, or cancel it"),
                (
                    len(active) > self._most,
                    f"{len(active)} models wait to be trained: try again in a minute",
                ),
            )
            self._jobs.pop(name, None)
            self._jobs[name] = _Job(name, work, owner)
            for old in [n for n, job in self._jobs.items() if job not in active][:-KEPT]:
                del self._jobs[old]
            self._go_on()

    def standing(self, name: str) -> Turn | None:
        """Where something stands; None where there never was such a thing."""
        with self._lock:
            job = self._jobs.get(name)
            if job is None:
                return None
            before = list(self._jobs.values())
            ahead = [one for one in before[: before.index(job)] if one.state in ACTIVE]
            end = time.monotonic() if job.state == "running" else job.ended
            seconds = end - job.started if job.started else 0.0
            return Turn(name, job.state, len(ahead), job.progress, job.error, seconds)

    def names(self) -> tuple[str, ...]:
        """What is remembered, in the order of asking."""
        with self._lock:
            return tuple(self._jobs)

    def cancel(self, name: str, owner: str) -> None:
        """End what an owner asked for; nothing where it has ended, or is somebody else's."""
        with self._lock:
            job = self._jobs.get(name)
            if job is None or job.owner != owner or job.state not in ACTIVE:
                return
            job.unwanted = True
            if job.state == "queued":
                job.state = "cancelled"

    def is_of(self, name: str, owner: str) -> bool:
        """Whether this owner asked for it."""
        with self._lock:
            job = self._jobs.get(name)
            return job is not None and job.owner == owner

    def _go_on(self) -> None:
        """Begin with what waits for longest, if nothing runs; under the lock."""
        waiting = [job for job in self._jobs.values() if job.state == "queued"]
        if self._running or not waiting:
            return
        job, self._running = waiting[0], True
        job.state, job.started = "running", time.monotonic()
        threading.Thread(target=self._run, args=(job,), name="training", daemon=True).start()

    def _run(self, job: _Job) -> None:
        state: State = "done"
        try:
            job.work(lambda progress: self._note(job, progress))
        except Cancelled:
            state = "cancelled"
        except CouplingError as error:
            state, job.error = "failed", str(error)
        except BaseException as error:  # whatever it is, the lane goes on
            _log.error("training failed", exc_info=error)
            state = "failed"
            job.error = f"it failed in a way that was not foreseen ({type(error).__name__})"
        with self._lock:
            job.state, job.ended, self._running = state, time.monotonic(), False
            self._go_on()

    def _note(self, job: _Job, progress: Progress) -> None:
        job.progress = progress
        if job.unwanted:
            raise Cancelled("nobody waits for this model any more")
