"""Pieces of one measurement done side by side, each on one core.

Jacobians, decompositions and comparisons of different blocks do not depend on one another, and a
block's products are too small to fill several cores. So each piece runs in a thread of its own, in
which the libraries have one; what they give is taken in the order in which it was asked for. How
many such threads there are is no part of a result: it is the same to the bit with one. Where there
are fewer pieces than cores, or memory for fewer, the libraries have several, and round otherwise.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from traceback import clear_frames
from typing import Any, TypeVar

import torch
from torch import nn

from coupling_core.base.memory import is_out_of_memory
from coupling_core.engine.hardware import one_blas_thread, threads
from coupling_core.engine.jacobians.true_float64 import has_experts
from coupling_core.engine.loading import LoadedModel, is_lent
from coupling_core.engine.out_of_memory import relieve
from coupling_core.engine.ways_taken import Notes, add, noting

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class _Piece:
    """A piece of work under way: what it does, and what it gives with what it noted."""

    work: Callable[[], Any]
    future: "Future[tuple[Any, Notes]]"


class SideBySide:
    """Workers, as long as a `with` block lasts; a single one is whoever asks.

    Args:
        workers: how many.
        library_threads: that the libraries have in each of several workers.
    """

    def __init__(self, workers: int = 1, library_threads: int = 1) -> None:
        self.workers, self.library_threads = workers, library_threads
        self._pool: ThreadPoolExecutor | None = None
        self._begun: deque[tuple[_Piece, Callable[[Any], None]]] = deque()
        self._running: list[Future[Any]] = []
        self._left = ExitStack()

    def __enter__(self) -> "SideBySide":
        if self.workers > 1:
            # A new thread has as many as were set last, in whichever thread that was. Whoever asks
            # has no more either: idle threads of OpenMP wait busily, on the cores of the others.
            self._left.callback(torch.set_num_threads, threads())
            self._left.enter_context(one_blas_thread())
            setup = partial(torch.set_num_threads, self.library_threads)
            self._pool = ThreadPoolExecutor(self.workers, "side by side", setup)
            self._left.callback(self._pool.shutdown, cancel_futures=True)
            setup()
        return self

    def __exit__(self, *_: object) -> None:
        self._begun.clear()
        self._left.close()

    def in_order(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """What work gives for each item, in the items' order, each as soon as it is there.

        No more than one item a worker, and one for whoever is done first, is worked on ahead.
        """
        if self._pool is None:
            yield from map(work, items)
            return
        ahead: deque[_Piece] = deque()
        for item in items:
            ahead.append(self._start(partial(work, item)))
            if len(ahead) > self.workers:
                yield self._end(ahead.popleft())
        while ahead:
            yield self._end(ahead.popleft())

    def begin(self, work: Callable[[], R], keep: Callable[[R], None]) -> None:
        """Have work done beside what follows.

        Args:
            work: to be done; it may be asked again, alone, where memory ran out beside others.
            keep: takes what it gives, here and in the order of `begin`, by the next `finish`.
        """
        if self._pool is None:
            keep(work())
        else:
            self._begun.append((self._start(work), keep))

    def finish(self) -> None:
        """Have all that was begun kept."""
        while self._begun:
            piece, keep = self._begun.popleft()
            keep(self._end(piece))

    def _start(self, work: Callable[[], Any]) -> _Piece:
        assert self._pool is not None  # there are several workers
        future = self._pool.submit(copy_context().run, _noted, work)
        self._running = [other for other in self._running if not other.done()] + [future]
        return _Piece(work, future)

    def _end(self, piece: _Piece) -> Any:
        try:
            found, notes = piece.future.result()
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            clear_frames(error.__traceback__)  # they hold what had been computed
            wait(self._running)
            relieve()
            found, notes = self._start(piece.work).future.result()
        add(notes)
        return found


def _noted(work: Callable[[], R]) -> tuple[R, Notes]:
    with noting() as notes:
        return work(), notes


def go_side_by_side(loaded: LoadedModel, blocks: nn.ModuleList) -> bool:
    """Whether blocks of a model may run at the same time: whether they share nothing that changes.

    A GPU has its own way of filling itself. Weights that are lent to one block at a time take their
    memory again for each; how experts run is chosen for all blocks at once; of somebody's own code
    nothing is known.
    """
    modules = [module for block in blocks for module in block.modules()]
    return (
        loaded.device.type == "cpu"
        and not loaded.foreign
        and len(modules) == len(set(modules))
        and not has_experts(*blocks)
        and not is_lent(loaded.model, loaded.device)
    )
