"""Many requests to one model: what is stored is read, and the rest measured and stored.

On a processor whole requests are measured side by side, in processes of one core each, as many as
there are cores and memory for. They do not share what Python can do one at a time only, and so each
is as fast as one alone. What is done here, in this process, is a single request; what takes hardly
longer than processes take to begin; and what a GPU does, which fills itself.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType

from coupling_core.base.cores import cores
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.memory import usable_memory
from coupling_core.base.records import Request
from coupling_core.base.results import Progress, Result
from coupling_core.base.units import size
from coupling_core.measuring import startup
from coupling_core.measuring.crew import ALONE, crew
from coupling_core.measuring.forecast import PROCESS, Crew
from coupling_core.measuring.measure import find_stored, measure
from coupling_core.measuring.worker import Several, Worker
from coupling_core.measuring.worker.asking import weight_bytes
from coupling_core.sources import hub
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store

SHORT = 20.0
"""Seconds of computing that are not worth the seconds in which other processes begin."""

SMALL = 8 * 10**7
"""Bytes of weights with which a model is measured in a second or so."""


@dataclass(frozen=True)
class Answer:
    """What came of a request.

    Args:
        number: of the request.
        result: the answer; None where there is none.
        error: why there is none; None where there is one.
        stored: whether it was stored before.
    """

    number: int
    result: Result | None = None
    error: InputError | ComputeError | None = None
    stored: bool = False

    def get(self) -> Result:
        """The answer."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


class Answers:
    """The answers to many requests to one model, within a `with` block.

    At its end nothing is measured any more, whatever ended it; what was stored until then is read
    the next time.

    Args:
        requests: by their numbers; they differ in their prompts alone.
        store: answers what it holds, and keeps the rest.
        device: where to compute.
        fast: as `measure` has it.
        report: is told how far each request is, by its number and from any thread; an error of ours
            that it raises is what comes of that request.
        processes: so many side by side, whatever their memory; None is as many as there is room
            for.
        by: measures one in place of `measure`.
    """

    def __init__(
        self,
        requests: Mapping[int, Request],
        store: Store,
        *,
        device: str | None = None,
        fast: bool = True,
        report: Callable[[int, Progress], None] = lambda *_: None,
        processes: int | None = None,
        by: Callable[..., Result] | None = None,
    ) -> None:
        self._requests, self._store, self._device = requests, store, device
        self._fast, self._report, self._processes = fast, report, processes
        self._by = by or partial(measure, fast=fast)
        self._found = 0
        self._left = ExitStack()
        self.several: Several | None = None
        self.crew = ALONE

    def __enter__(self) -> "Answers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.close()

    @property
    def stored(self) -> int:
        """Answers that are in the store, as far as is known."""
        return self._found + (self.several.measured if self.several else 0)

    def __iter__(self) -> Iterator[Answer]:
        """Stored ones first, then those that are measured, each as soon as it is there.

        Raises `InputError` or `ComputeError` where the model is out of reach.
        """
        missing: dict[Request, list[int]] = {}
        first: Resolved | None = None
        for number, request in self._requests.items():
            first = first or resolve(request)
            try:
                found = find_stored(resolve(request, first.source), self._store, fast=self._fast)
            except InputError as error:
                yield Answer(number, error=error)
                continue
            if found is None:
                missing.setdefault(request, []).append(number)
            else:
                self._found += 1
                yield Answer(number, found, stored=True)
        numbers = {each[0]: request for request, each in missing.items()}
        for answer in self._measured(numbers):
            yield answer
            for again in missing[self._requests[answer.number]][1:]:
                self._found += answer.result is not None
                yield Answer(again, answer.result, answer.error, stored=answer.result is not None)

    def _measured(self, requests: Mapping[int, Request]) -> Iterator[Answer]:
        most = min(self._processes or cores(), len(requests))
        if most > 1:
            self.crew = self._begin(requests, most)
        if self.several is None:
            yield from self._here(requests)
            return
        words = (
            f"{self.crew.processes} processes measure side by side, and take about "
            f"{size(self.crew.needed)} of memory in all"
        )
        self._report(next(iter(requests)), Progress("loading", note=words))
        alone = not _is_here(resolve(next(iter(requests.values()))))
        for done in self.several.measure(requests, self._there, self._report, first_alone=alone):
            assert done.error is None or isinstance(done.error, InputError | ComputeError)
            yield Answer(done.number, done.result, done.error)

    def _here(self, requests: Mapping[int, Request]) -> Iterator[Answer]:
        for number, request in requests.items():
            try:
                result = self._by(
                    request,
                    self._store,
                    device=self._device,
                    progress=partial(self._report, number),
                )
            except (InputError, ComputeError) as error:
                yield Answer(number, error=error)
                continue
            self._found += bool(result.key)
            yield Answer(number, result)

    def _there(
        self, worker: Worker, request: Request, report: Callable[[Progress], None]
    ) -> Result:
        return worker.measure(
            request, self._store, device=self._device, progress=report, by=self._by
        )

    def _begin(self, requests: Mapping[int, Request], most: int) -> Crew:
        """Begin as many processes as there is room for; none where one is as good."""
        asked = [resolve(request) for request in requests.values()]
        lengths = tuple(one.n_tokens for one in asked)
        request, free = asked[0].request, usable_memory()
        work = partial(crew, request, lengths, self._device, free, most)
        stays = startup.torch_is_here() or _may_be_a_gpu(self._device) or _is_small(asked[0])
        if self._processes is None and stays:
            found = work(worth=SHORT)
            self._enter(found.processes)
            return found
        # They import what this process would have to import, so that nothing is lost meanwhile.
        several = self._enter(self._processes or min(most, free // PROCESS))
        found = several.ask(work) if several else ALONE
        if self._processes is not None:
            return replace(found, processes=self._processes)
        if several and found.processes < 2:
            self._left.close()
            self.several = None
        elif several:
            several.keep(found.processes)
        return found

    def _enter(self, count: int) -> Several | None:
        self.several = self._left.enter_context(Several(count)) if count > 1 else None
        return self.several


def _is_here(asked: Resolved) -> bool:
    """Whether nothing has to be fetched or converted before the model is loaded."""
    return asked.files.is_converted and hub.cache.has_weights(asked.files.folder)


def _is_small(asked: Resolved) -> bool:
    """Whether a request is measured in about a second, as far as its files tell."""
    return weight_bytes(asked) < SMALL


def _may_be_a_gpu(device: str | None) -> bool:
    """Whether requests may be measured on a GPU, told without torch."""
    if device is not None:
        return not device.startswith("cpu")
    return sys.platform == "darwin" or any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd")))
