"""A list of prompts as one job: one after the other, what is stored left out."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from coupling_core.base.bars import Pace
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.units import duration
from coupling_core.sources.resolved import Resolved

_FEW = 16
"""Bytes of the hash that names a list."""


@dataclass(frozen=True)
class Prompts:
    """How far a list of prompts is.

    Args:
        done: prompts that are measured, or left out.
        total: how many there are.
        left: seconds that the rest takes, by those that were measured; None before one was.
        failed: the errors of those that were left out, by their place in the list, from 0.
    """

    done: int
    total: int
    left: float | None = None
    failed: tuple[tuple[int, str], ...] = ()


def list_key(keys: Iterable[str]) -> str:
    """The key of the job of a list, by the store keys of its requests in their order."""
    return "list-" + blake2b("\n".join(keys).encode(), digest_size=_FEW).hexdigest()


@dataclass
class Course:
    """Measures a list, and tells how far it is.

    Args:
        asked: the requests, which differ in their prompts alone.
        is_stored: whether the answer to one is there already.
        tell: is told after each prompt.
        longest: seconds that all of it may take; None is no limit.
    """

    asked: Sequence[Resolved]
    is_stored: Callable[[Resolved], bool]
    tell: Callable[[Prompts], None]
    longest: float | None = None
    _began: float = field(default_factory=time.monotonic, init=False)
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(len(self.asked))

    def run(self, measure: Callable[[Resolved], object]) -> None:
        """Measure each with this; a prompt that cannot be measured does not lose the others.

        Raises:
            InputError: where none of the prompts can be measured.
            ComputeError: where the computing fails, as it would for the next one too, or takes
                longer than it may; what was measured until then is stored.
        """
        so_far = Prompts(0, len(self.asked))
        for number, one in enumerate(self.asked):
            try:
                error = self._one(one, measure)
            except ComputeError as why:
                raise ComputeError(f"prompt {number + 1} of {len(self.asked)}: {why}") from why
            failed = (*so_far.failed, (number, error)) if error else so_far.failed
            so_far = replace(so_far, done=number + 1, left=self._pace.left(), failed=failed)
            self.tell(so_far)
        if len(so_far.failed) == len(self.asked):
            raise InputError(
                f"no prompt could be measured, the first because {so_far.failed[0][1]}"
            )

    def require_time(self) -> None:
        """Refuse to go on for longer than the list may take.

        Raises:
            ComputeError: where it has.
        """
        if self.longest is not None and time.monotonic() - self._began > self.longest:
            raise ComputeError(
                f"these prompts took longer than the {duration(self.longest)} that this app allows "
                "for a list: what was measured is kept, so ask again for the rest"
            )

    def _one(self, asked: Resolved, measure: Callable[[Resolved], object]) -> str:
        """Why a prompt was left out; "" where it was not."""
        if self.is_stored(asked):
            self._pace.step(computed=False)
            return ""
        self.require_time()
        self._pace.begin()
        try:
            measure(asked)
        except InputError as error:
            self._pace.step(computed=False)
            return str(error)
        self._pace.step(computed=True)
        return ""
