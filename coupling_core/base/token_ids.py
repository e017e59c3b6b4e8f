"""Token ids, in whatever form they are handed over; without torch."""

import operator
from collections.abc import Mapping, Sequence
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
    """The ids of one prompt.

    Args:
        given: whole numbers in a list, a tuple, a range, or an array or tensor of NumPy or torch,
            of shape (token) or (1 token).

    Raises:
        InputError: where they are of several prompts, or are no whole numbers.
    """
    if isinstance(given, Mapping) or hasattr(given, "input_ids"):
        raise InputError(f"token ids were expected, and {a_type(given)} came: pass its input_ids")
    if isinstance(given, str):
        raise InputError(
            "a text came where token ids were expected: pass those of its tokenizer, "
            "tokenizer(text)['input_ids']"
        )
    if isinstance(given, bytes | bytearray):
        raise InputError("bytes came where token ids were expected: decode them to a text")
    if getattr(given, "is_meta", False):
        raise InputError(
            "the token ids are on the device meta, which holds no numbers: give a list"
        )
    found = given.tolist() if hasattr(given, "tolist") else given
    try:
        found = list(found)
        if len(found) == 1 and isinstance(found[0], list | tuple):
            (found,) = found  # (1 token), as a model is given them
        if any(isinstance(each, list | tuple) for each in found):
            raise InputError(
                f"token ids of one prompt were expected, and {len(found)} rows of them came: pass "
                "one row after the other"
            )
        if any(isinstance(each, bool) for each in found):
            raise TypeError("a truth value is no id, such as a mask has them")
        return tuple(operator.index(each) for each in found)
    except TypeError as error:
        raise InputError(
            f"token ids are whole numbers, one for each token, and {a_type(given)} came "
            f"that has others: {_shown(given)}"
        ) from error


def _shown(given: Any) -> str:
    text = " ".join(repr(given).split())
    return text if len(text) <= 60 else text[:57] + "..."
