"""Token ids, in whatever form they are handed over; without torch."""

import operator
from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, runtime_checkable

from coupling_core.base.errors import InputError, a_type


@runtime_checkable
class Array(Protocol):
    """An array of NumPy, or a tensor of torch."""

    def tolist(self) -> Any:
        """Its numbers in lists."""


TokenIds = Sequence[SupportsIndex] | Sequence[Sequence[SupportsIndex]] | Array
"""Ids of one prompt as people have them: (token) or (1 token)."""


def token_ids(given: Any) -> tuple[int, ...]:
    """The ids of one prompt, from whole numbers of shape (token) or (1 token)."""
    try:
        if hasattr(given, "keys") or hasattr(given, "input_ids"):
            raise TypeError("pass its input_ids")
        if isinstance(given, str | bytes | bytearray):
            raise TypeError("pass a text to a tokenizer")
        ids = list(given.tolist() if hasattr(given, "tolist") else given)
        if len(ids) == 1 and isinstance(ids[0], list | tuple):
            (ids,) = ids  # (1 token), as a model takes them
        if any(isinstance(each, bool) for each in ids):
            raise TypeError("a mask has truth values")
        return tuple(map(operator.index, ids))
    except (TypeError, RuntimeError) as error:  # the latter of a tensor on the device meta
        raise InputError(
            f"expected the token ids of one prompt, a whole number each, got {a_type(given)} "
            f"({error})"
        ) from error
