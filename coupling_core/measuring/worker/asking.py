"""Measuring in a process of its own, and what is done where that dies."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from coupling_core.base.errors import ComputeError
from coupling_core.base.kinds import FOLDERS
from coupling_core.base.records import Request
from coupling_core.base.results import BEGINNING, Progress, Result
from coupling_core.base.settings import settings
from coupling_core.base.units import duration
from coupling_core.measuring import deaths
from coupling_core.measuring.measure import REMEDY, Report, measure
from coupling_core.measuring.worker import ceiling, serving
from coupling_core.measuring.worker.process import Death, Died, Process, Teller
from coupling_core.sources import hub
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store

ENGINE = tuple(f"{folder}.{part}" for folder in FOLDERS for part in ("compose", "cost"))
"""What a worker imports before it runs anything: torch, and all of ours that needs it."""

GRACE = 10.0
"""Seconds that a measurement has to end in, once nobody waits for it; then its process is ended."""

SLACK = 4
"""How many times as long as it may be estimated to take a measurement may take: twice, as far as
estimates are off, and twice again, where the pages want the processor too."""

TRIES = 3
"""How many processes a call is given that die for no fault of its own."""

_log = logging.getLogger(__name__)


class Ended(ComputeError):
    """A process ended before it had done what it was asked to."""


_stores: dict[Path, Store] = {}


class Worker:
    """Runs what it is asked to in a process of its own; safe to call from any thread.

    Args:
        modules: that the process imports first.
        grace: seconds that a call has to end in, once nobody waits for it.
        library_threads: that the libraries have in its process; None leaves it to them.
    """

    def __init__(
        self,
        modules: Sequence[str] = ENGINE,
        grace: float = GRACE,
        library_threads: int | None = None,
    ) -> None:
        self._modules, self._grace = modules, grace
        self._library_threads = library_threads
        self._lock = threading.Lock()
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """Of its process; None where none lives."""
        process = self._process
        return process.pid if process and process.death is None else None

    def measure(
        self,
        request: Request,
        store: Store,
        *,
        device: str | None = None,
        progress: Report | None = None,
        by: Callable[..., Result] = measure,
    ) -> Result:
        """Answer a request; arguments and errors are those of `measure`, which does it there.

        Another function `by` may do it in its place.

        What was told last is told again where nothing new comes for a while, so that an error that
        `progress` raises also ends a step that takes long: after a time of grace, with its process.

        Raises:
            ComputeError: also where the process died of it (`Ended`), or it took too long.
        """
        work = partial(_measured, by, request, store, device)
        longest = settings().longest_seconds
        if longest is not None:
            progress = _Deadline(progress, SLACK * longest)
        return store.get(self.call(work, about=request, progress=progress))

    def prepare(self, request: Request, device: str | None = None) -> None:
        """Begin to bring a model into memory, where nothing has to be fetched or converted."""
        work = partial(self._quietly, partial(_prepared, request, device))
        threading.Thread(target=work, name="preparing", daemon=True).start()

    def forget(self, location: str, digest: str) -> None:
        """Let go of a model, and of the files that it keeps open."""
        if self.pid is not None:
            self.call(partial(_forgotten, location, digest))

    def call(
        self,
        work: Callable[..., Any],
        *,
        about: Request | None = None,
        progress: Report | None = None,
        longest: float = math.inf,
    ) -> Any:
        """Run a function of a module there, and wait for what it gives; there, run it at once.

        Args:
            work: the function with its arguments, which can be pickled.
            about: of which model it runs: where that ends the process, it is remembered, and tried
                once more by the definition alone (see `deaths`).
            progress: given to the function under this name, and told here what it is told there,
                though not each of many steps.
            longest: seconds for which it is waited for while it says nothing; then its process is
                ended, as one that hangs.

        Raises:
            ComputeError: where the process died of it (`Ended`), or said nothing for longer.
            Exception: what the function raised, or `progress` did.
        """
        if serving.serves:
            return work() if progress is None else work(progress=progress)
        teller = Teller(progress) if progress else None
        for again in range(TRIES):
            if teller and again:
                teller.tell(Progress("loading"))
            try:
                return self._alive().run(work, teller, self._grace, longest)
            except Died as died:
                death, by_this = died.death, died.by_this
            if not by_this:
                continue
            _tell(death, about)
            if death.from_outside or about is None or not deaths.note(resolve(about), death.how):
                break
        raise Ended(_words(death, about))

    def start(self) -> None:
        """Have its process begin to import, which takes seconds; nobody waits for it."""
        self._alive()

    def close(self) -> None:
        """End the process, and whatever it is at."""
        with self._lock:
            if self._process:
                self._process.end()

    def _alive(self) -> Process:
        with self._lock:
            if self._process is None or self._process.death is not None:
                self._process = Process(self._modules, self._library_threads)
            return self._process

    def _quietly(self, work: Callable[[], Any]) -> None:
        try:
            self.call(work)
        except Exception as error:  # whoever measures with it is told why
            _log.warning("no model could be made ready: %s", type(error).__name__)


class _Deadline:
    """Tells how far a measurement is, until it has taken too long; to fetch its model counts not.

    Args:
        report: is told.
        longest: seconds.
    """

    def __init__(self, report: Report | None, longest: float) -> None:
        self._report, self._longest = report, longest
        self._began = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Tell it."""
        now = time.monotonic()
        if progress.stage in ("downloading", "converting"):
            self._began = now
        # What is being saved is finished.
        if now - self._began > self._longest and progress.stage != "saving":
            raise ComputeError(
                f"this took longer than the {duration(self._longest)} that this app allows for a "
                "measurement: shorten the prompt, or choose a smaller K or model"
            )
        if self._report:
            self._report(progress)


def _measured(
    measure: Callable[..., Result],
    request: Request,
    store: Store,
    device: str | None,
    progress: Report | None = None,
) -> str:
    """Runs there: the key of a result that is stored."""
    # One for all calls: it remembers how much was written since it last looked at all results.
    shelf = _stores.setdefault(store.root, store)
    report = partial(_bounded, resolve(request), progress or (lambda _: None))
    return measure(request, shelf, device=device, progress=report).key


def _bounded(asked: Resolved, report: Report, progress: Progress) -> None:
    """Bound the memory of what comes next, and tell of it."""
    if progress.stage in BEGINNING:
        ceiling.renew(max(progress.total, weight_bytes(asked)))
    elif progress.stage == "tracing":  # now they are mapped
        ceiling.renew()
    report(progress)


def weight_bytes(asked: Resolved) -> int:
    """Bytes of a model's files, as far as they are on this disk."""
    return sum(file.stat().st_size for file in asked.files.folder.glob("*.safetensors"))


def _prepared(request: Request, device: str | None) -> None:
    """Runs there."""
    from coupling_core.engine import loading  # torch

    serving.give_way()
    asked = resolve(request)
    if asked.files.is_converted and hub.cache.has_weights(asked.files.folder):
        ceiling.renew(weight_bytes(asked))
        loading.load(asked, device)


def _forgotten(location: str, digest: str) -> None:
    """Runs there."""
    from coupling_core.engine import loading  # torch

    loading.forget(location, digest)


def _tell(death: Death, about: Request | None) -> None:
    fields = {"raised": death.stack}
    if about:
        fields |= {"model": about.model, "revision": about.revision or "", "kind": about.kind}
    _log.error("a worker died of %s", death.how, extra=fields)


def _words(death: Death, about: Request | None) -> str:
    """For whoever waited: which model, how the process ended, and what may help."""
    model = f" with {about.model}" if about else ""
    if death.meant:
        why, remedy = "because it no longer answered", "try again"
    elif death.is_killed:
        why, remedy = "as the system does where memory runs out", REMEDY
    elif death.from_outside:
        why, remedy = "from outside", "try again"
    else:
        why = "a fault inside the libraries that it computes with"
        remedy = "try another model, or report it with the program's log"
    return (
        f"the worker process was ended by {death.how} while it computed{model}, {why}; what is "
        f"stored and what others wait for is not touched: {remedy}"
    )
