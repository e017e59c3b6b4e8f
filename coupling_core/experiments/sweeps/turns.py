"""Which measurement a worker does next: one of the model that it has in memory, while there are.

To load a model takes as long as many measurements of it. So a worker stays with its model, and
takes up another where nothing is left of it: first one that no worker has, then that of which most
is left for each worker that has it.
"""

from collections import deque
from collections.abc import Iterable

from coupling_core.experiments.sweeps.plan import Item


class Turns:
    """Items by their weights, and who has which weights in memory.

    Args:
        items: what is to be measured.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._left: dict[int, deque[Item]] = {}
        self._holds: dict[str, int] = {}
        for item in items:
            self._left.setdefault(item.weights, deque()).append(item)

    def __len__(self) -> int:
        return sum(map(len, self._left.values()))

    def take(self, worker: str) -> Item | None:
        """Take out what this worker does next; None where nothing is left."""
        if self._holds.get(worker) not in self._left:
            self._holds.pop(worker, None)
            if not self._left:
                return None
            self._holds[worker] = max(self._left, key=self._share)
        weights = self._holds[worker]
        item = self._left[weights].popleft()
        if not self._left[weights]:
            del self._left[weights]
        return item

    def put_back(self, item: Item) -> None:
        """Another try, after all others of its weights."""
        self._left.setdefault(item.weights, deque()).append(item)

    def drop(self, weights: int) -> list[Item]:
        """Take out all that is left of these weights."""
        return list(self._left.pop(weights, ()))

    def forget(self, worker: str) -> None:
        """A worker is gone, and its memory with it."""
        self._holds.pop(worker, None)

    def _share(self, weights: int) -> tuple[bool, float]:
        """How urgent they are: free ones first, in the order of the sweep, then by what is left."""
        holders = sum(held == weights for held in self._holds.values())
        if not holders:
            return True, -weights
        return False, len(self._left[weights]) / holders
