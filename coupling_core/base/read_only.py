"""Records whose NumPy arrays nobody writes into: what is frozen is so to its last number."""

from typing import Any

import numpy as np


class ReadOnlyArrays:
    """A frozen dataclass with arrays, each of which it has as a view that refuses to be written.

    Nothing is copied: whoever made an array goes on filling it, as a measurement does that tells
    what it has so far.
    """

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and deeply copied arrays can be written again, whatever they were copied from.
        vars(self).update(state)
        ReadOnlyArrays.__post_init__(self)


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers, as a view that refuses to be written."""
    view = array.view()
    view.flags.writeable = False
    return view
