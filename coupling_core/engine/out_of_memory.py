"""Work done in chunks, which become smaller where memory runs out.

How much is taken at a time is no part of a result: it changes the shapes of matrix products, and
with them no more than the rounding of their last digits.
"""

import gc
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from coupling_core.base.memory import is_out_of_memory

T = TypeVar("T")

_relief: list[Callable[[], None]] = []


class Chunks:
    """How many items a stage takes at a time: half as many from when memory ran out.

    Args:
        size: how many at first.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def of(self, work: Callable[[slice], T], count: int) -> Iterator[tuple[slice, T]]:
        """Do work on items 0 .. count - 1, a chunk of them at a time.

        Args:
            work: on a slice of the items; it may be asked again for a part of a slice in which it
                failed.
            count: how many items there are.

        Yields:
            each slice, and what the work gave.

        Raises:
            MemoryError, RuntimeError: where memory runs out with a single item.
        """
        start = 0
        while start < count:
            part = slice(start, min(start + self.size, count))
            try:
                found = work(part)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or part.stop - start == 1:
                    raise
            else:
                yield part, found
                del found
                start = part.stop
                continue
            # Here the error is gone, and with it all that its frames held.
            self.size = (part.stop - start) // 2
            relieve()


def when_short(relief: Callable[[], None]) -> None:
    """Have something called whenever memory ran out: it lets go of what can be had again."""
    _relief.append(relief)


def relieve() -> None:
    """Let go of all that is not needed now."""
    for relief in _relief:
        relief()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
