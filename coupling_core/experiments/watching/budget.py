"""How much of a training's time watching it may take."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Budget:
    """Time, as it goes by.

    Args:
        share: of all time since it began, that may be spent, from 0 to 1.
        clock: gives seconds.
    """

    share: float
    clock: Callable[[], float] = time.perf_counter
    spent: float = 0.0
    _last: float = 0.0
    _began: float = field(default=0.0)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def allows(self) -> bool:
        """Whether one more look, as long as the last, keeps within the share; the first always."""
        if not self.spent:
            return True
        after = self.clock() - self._began + self._last
        return self.spent + self._last <= self.share * after

    def spend(self, seconds: float) -> None:
        """Note what a look took."""
        self.spent += seconds
        self._last = seconds

    @property
    def so_far(self) -> float:
        """The share that was spent."""
        return self.spent / max(self.clock() - self._began, 1e-9)
