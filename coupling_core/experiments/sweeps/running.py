"""A sweep on the workers of a dask cluster: what the store lacks is measured, and nothing else."""

import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from coupling_core.base.bars import Bar, telling
from coupling_core.base.callers import warn_caller
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.units import counted
from coupling_core.experiments.sweeps.journal import (
    Failure,
    Journal,
    State,
    by_reason,
    told_failure,
)
from coupling_core.experiments.sweeps.plan import Item, Plan
from coupling_core.experiments.sweeps.turns import Turns
from coupling_core.experiments.sweeps.worker import Outcome, work
from coupling_core.store.disk import Store, as_store
from coupling_core.store.request_key import make_key

if TYPE_CHECKING:  # a status or a table needs no cluster
    from dask.distributed import Client, Future

Report = Callable[[State], None]

FEW = 3
"""Reasons of failures that are told."""
AHEAD = 2
"""Measurements that a worker has been given: while it does one, the next is on its way."""
GONE = 600.0
"""Seconds after which workers that are all gone are not waited for any more."""
IN_A_ROW = 3
"""So many first measurements of a model that fail with the same words end it: the next would."""
LOOK = 0.5
"""Seconds between two looks at which workers there are."""
ANSWER = 30.0
"""Seconds within which an outcome that is there arrives."""
STUCK = 60.0
"""Seconds that a worker gets, beside twice the time limit, until it is taken to hang."""


@dataclass(frozen=True, eq=False)
class _Sent:
    """A measurement that a worker was given."""

    item: Item
    worker: str
    future: "Future"


def run(
    plan: Plan,
    store: Store | str | os.PathLike[str] | None = None,
    client: "Client | None" = None,
    report: Report | None = None,
    *,
    workers: int | None = None,
    progress: bool = True,
) -> State:
    """Measure what the store lacks of a sweep.

    Args:
        plan: the sweep.
        store: where results go, a `Store` or its folder, on a disk that all workers share. None is
            that of the command line.
        client: of the cluster; None starts workers on this machine where there is something to
            do, one a GPU or one on the processor. They are processes of their own: a script that
            runs a sweep does so below `if __name__ == "__main__":`.
        workers: how many are started here, where no client is given; None is one a GPU, or one on
            the processor.
        report: told how far it is, about once a second and at the end, in place of a bar.
        progress: whether a terminal or a notebook shows a bar, where no report is given; where
            neither is, a line on stderr now and then.

    Returns:
        how it ended; what failed is in its journal.

    Raises:
        InputError: where this sweep is being run already, a model or prompts of it are gone, or
            `workers` is no number from 1 on.
        ComputeError: where the store cannot be written, or the cluster is lost; what was measured
            until then is stored.
    """
    if plan.gone:
        raise InputError(plan.gone)
    _require_workers(workers)
    store = as_store(store)
    if report is None:
        with watched(plan, Bar(stays=True, shown=progress)) as report:
            state = run(plan, store, client, report, workers=workers)
        if reasons := by_reason(Journal.of(store, plan.id).failures()):
            told = "; ".join(told_failure(*one) for one in reasons[:FEW])
            more = f"; and {len(reasons) - FEW} other reasons" * (len(reasons) > FEW)
            warn_caller(f"{state.failed} of {len(plan)} failed: {told}{more}")
        return state
    try:
        if client or nothing_to_do(plan, store):
            return _Run(plan, store, client, report).to_its_end()
        from coupling_core.experiments.sweeps import clusters

        with clusters.local(workers) as here:
            return _Run(plan, store, here, report).to_its_end()
    except KeyboardInterrupt:
        done = len(plan) - len(plan.missing(store))
        stopped = f"stopped: {done} of {len(plan)} stored, the same call goes on"
        raise KeyboardInterrupt(stopped) from None


@contextmanager
def watched(plan: Plan, bar: Bar) -> Iterator[Report]:
    """What shows by a bar how far it is, and what the workers do."""
    before = 0
    with telling(len(plan), bar, of="measurement", starts_slowly=True) as advance:
        advance("starting workers", done=0)

        def report(state: State) -> None:
            nonlocal before
            ended = state.stored + state.done + state.failed
            failed = f", {state.failed} failed" * bool(state.failed)
            waiting = "waiting for workers" if ended < state.total else "done"
            at = ", ".join(state.working[:2]) or waiting
            advance(f"{counted(state.workers, 'worker')}{failed}: {at}", done=ended - before)
            before = ended

        yield report


def _require_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise InputError(f"at least one worker measures a sweep, and workers={workers} came")


def nothing_to_do(plan: Plan, store: Store) -> bool:
    """Whether all is stored that can be measured, so that no cluster is needed."""
    return all(plan.weights[item.weights].problem for item in plan.missing(store))


class _Run:
    def __init__(self, plan: Plan, store: Store, client: "Client | None", report: Report) -> None:
        self.plan, self._client, self.report = plan, client, report
        self.root = str(store.root.absolute())
        self.journal = Journal.of(store, plan.id)
        store.require_writable()
        self.journal.begin(plan.described, plan.found)
        keys = list(zip(plan.items(), plan.stored(store), strict=True))
        missing = [item for item, key in keys if not key]
        self.turns = Turns(item for item in missing if not plan.weights[item.weights].problem)
        self.state = State(
            plan.id,
            plan.sweep.title or plan.sweep.name,
            len(plan),
            stored=len(plan) - len(missing),
            started=time.time(),
            updated=time.time(),
        )
        self.failures: list[Failure] = []
        self.attempts: Counter[Item] = Counter()
        self.refused: dict[int, list[str]] = defaultdict(list)
        self.succeeded = {item.weights for item, key in keys if key}
        self.workers: list[str] = []
        self.hanging: set[str] = set()
        self.met, self.seen = False, time.monotonic()
        self.given: dict[str, deque[_Sent]] = {}
        self.since: dict[str, float] = {}
        self.ended: SimpleQueue[_Sent] = SimpleQueue()
        for item in missing:
            if problem := plan.weights[item.weights].problem:
                self.fail(item, problem)

    @property
    def client(self) -> "Client":
        """Of the cluster, which there is where anything is to be measured."""
        assert self._client is not None
        return self._client

    def to_its_end(self) -> State:
        """Give work out until nothing is left; the note on the disk tells how that ended."""
        how = "stopped"
        try:
            self.tell(now=True)
            looked = 0.0
            while self.turns or any(self.given.values()):
                if time.monotonic() - looked > LOOK:
                    self.look()
                    looked = time.monotonic()
                self.give()
                self.tell()
                self.receive()
            how = "done"
        except OSError as error:  # of the connection, at whatever moment it broke
            how = self.lost()
            raise ComputeError(how) from error
        except ComputeError as error:
            how = str(error)
            raise
        finally:
            self.state = replace(self.state, ended=how)
            self.tell(now=True)
        return self.state

    def look(self) -> None:
        """See which workers there are, and end those that hang."""
        here = self.client.scheduler_info(n_workers=-1)["workers"] if self.alive() else {}
        if not self.alive():
            raise ComputeError(self.lost())
        for worker in set(self.given).difference(here):
            # What it was given comes back as an error, or from another worker.
            self.turns.forget(worker)
        for worker in here:
            self.given.setdefault(worker, deque())
        self.given = {worker: sent for worker, sent in self.given.items() if sent or worker in here}
        self.workers = [worker for worker in here if worker not in self.hanging]
        self.met = self.met or bool(here)
        if here or not self.met:  # jobs that wait in a queue may come much later
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > GONE:
            raise ComputeError(
                f"all workers are gone for {GONE / 60:.0f} minutes; {self.state.done} measurements "
                "of this run are stored: run the sweep again for the rest"
            )
        if here and not self.workers:
            raise ComputeError(
                f"every worker hangs; {self.state.done} measurements of this run are stored: start "
                "the workers anew, and run the sweep again for the rest"
            )
        longest = 2 * self.plan.sweep.timeout + STUCK
        for worker in self.workers:
            if self.given[worker] and time.monotonic() - self.since[worker] > longest:
                self.end(worker)

    def lost(self) -> str:
        """What is said where the scheduler is gone."""
        return (
            f"the scheduler is gone; {self.state.done} measurements of this run are stored: start "
            "it again, and run the sweep again for the rest"
        )

    def alive(self) -> bool:
        """Whether the scheduler can be asked."""
        return self.client.status == "running"

    def end(self, worker: str) -> None:
        """Start a worker anew that hangs in its first measurement, or give it nothing more."""
        sent = self.given[worker][0]
        sent.future.cancel(force=True)
        self.forget(sent)
        self.fail(
            sent.item,
            f"the worker hung for more than {2 * self.plan.sweep.timeout + STUCK:.0f} s, and was "
            "given up",
        )
        self.turns.forget(worker)
        try:
            self.client.restart_workers([worker], timeout=STUCK)
        except (ValueError, RuntimeError, TimeoutError):  # it has no nanny that could do it
            self.hanging.add(worker)
            for other in list(self.given[worker]):
                other.future.cancel(force=True)
                self.forget(other)
                self.turns.put_back(other.item)

    def give(self) -> None:
        """Keep every worker in work."""
        for worker in self.workers:
            while len(self.given[worker]) < AHEAD and (item := self.turns.take(worker)):
                self.send(item, worker)

    def send(self, item: Item, worker: str) -> None:
        """Give a worker something to measure."""
        self.attempts[item] += 1
        future = self.client.submit(
            work,
            item.request,
            self.root,
            str(self.journal.witness),
            self.plan.sweep.timeout,
            workers=[worker],
            allow_other_workers=True,  # where this one goes before it begins
            pure=False,
        )
        sent = _Sent(item, worker, future)
        if not self.given[worker]:
            self.since[worker] = time.monotonic()
        self.given[worker].append(sent)
        future.add_done_callback(lambda _: self.ended.put(sent))

    def receive(self) -> None:
        """Take in what has ended; waits for the first, but not for long."""
        try:
            self.take_in(self.ended.get(timeout=LOOK))
            while True:
                self.take_in(self.ended.get_nowait())
        except Empty:
            return

    def take_in(self, sent: _Sent) -> None:
        """Count an outcome, try again where that may help, or note the failure."""
        if sent not in self.given.get(sent.worker, ()):
            return  # it was given up before it ended
        self.forget(sent)
        outcome = self.outcome(sent)
        self.state = replace(
            self.state,
            seconds=self.state.seconds + outcome.seconds,
            busy=self.state.busy + outcome.busy,
        )
        if outcome.lost:
            raise ComputeError(outcome.error)
        if not outcome.error and not self.is_of(sent.item, outcome.key):
            self.fail(
                sent.item,
                "the worker measured other weights than are here under this name: give the commit "
                "as the revision, or the same files to all machines",
            )
        elif not outcome.error:
            self.state = replace(self.state, done=self.state.done + 1)
            self.succeeded.add(sent.item.weights)
        elif outcome.again and self.attempts[sent.item] <= self.plan.sweep.retries:
            self.turns.put_back(sent.item)
        else:
            self.fail(sent.item, outcome.error, outcome.trace)
            if not outcome.of_prompt:
                self.doubt(sent.item.weights, outcome.error)

    def is_of(self, item: Item, key: str) -> bool:
        """Whether a result is of the weights that the plan found."""
        identity = self.plan.weights[item.weights].identity
        # A model without a final norm has one result for both conventions.
        ways = (item.request, replace(item.request, final_norm="include"))
        return key.partition("-")[0] in {make_key(way, identity).digest for way in ways}

    def outcome(self, sent: _Sent) -> Outcome:
        """What came back, or what became of the worker."""
        from dask.distributed import CancelledError, KilledWorker

        try:
            return sent.future.result(timeout=ANSWER)
        except (KilledWorker, CancelledError):
            self.turns.forget(sent.worker)
            return Outcome(
                error="the worker died while it had this to measure: for want of memory, perhaps; "
                "the log of its machine has more",
                again=True,
            )
        except Exception as error:
            return Outcome(
                error=f"the worker did not answer as it should: {error!r}; is the same version of "
                "this program installed there?",
                again=True,
            )

    def forget(self, sent: _Sent) -> None:
        """It is not in work any more, and the next of its worker begins."""
        self.given[sent.worker].remove(sent)
        self.since[sent.worker] = time.monotonic()

    def fail(self, item: Item, error: str, trace: str = "") -> None:
        """Note what could not be measured."""
        self.failures.append(
            Failure(
                self.plan.weights[item.weights].title,
                self.plan.prompts[item.prompt].words,
                item.request.kind,
                error,
                trace,
                self.attempts[item],
            )
        )
        self.state = replace(self.state, failed=self.state.failed + 1)

    def doubt(self, weights: int, error: str) -> None:
        """Give weights up whose first measurements all fail in the same way."""
        refused = self.refused[weights]
        refused.append(error)
        if weights not in self.succeeded and refused[-IN_A_ROW:] == [error] * IN_A_ROW:
            for item in self.turns.drop(weights):
                self.fail(item, f"left out after {IN_A_ROW} others of this model: {error}")

    def tell(self, *, now: bool = False) -> None:
        """Note how far it is, and tell whoever runs it."""
        working = (
            self.plan.weights[sent[0].item.weights].title for sent in self.given.values() if sent
        )
        self.state = replace(
            self.state,
            updated=time.time(),
            workers=len(self.workers),
            working=tuple(dict.fromkeys(working)),
        )
        self.journal.note(self.state, now=now)
        if now:
            self.journal.note_failures(self.failures)
        self.report(self.state)
