"""Results of a training run by step; one that is not there is answered by its neighbours."""

from numbers import Integral
from typing import Generic, NoReturn, TypeVar

from coupling_core.base.errors import InputError

Found = TypeVar("Found")

NEAREST = 2
"""Steps that are named where another was asked for."""


class AtSteps(dict[int, Found], Generic[Found]):
    """A dictionary by step, which says in words what it has where a step is missing.

    `get`, `in` and all else are a dictionary's own.
    """

    def __missing__(self, step: object) -> NoReturn:
        """Say which steps there are.

        Raises:
            InputError: names the nearest ones.
        """
        if not self:
            raise InputError(f"step {step!r} is not measured, nor is any other: see measure_steps")
        if not isinstance(step, Integral):
            raise InputError(f"a step is a whole number, such as {min(self)}, and {step!r} came")
        near = sorted(sorted(self, key=lambda one: abs(one - int(step)))[:NEAREST])
        raise InputError(
            f"step {step} is not measured: of the {len(self)} steps that are, "
            f"{' and '.join(map(str, near))} {'is' if len(near) == 1 else 'are'} nearest"
        )
