"""Arrays as arguments: what is said of a result that came in the place of one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError
from coupling_core.base.units import a_or_an


def as_float64(given: Any) -> Float[np.ndarray, "..."]:
    """Numbers as an array, from one of NumPy, a list, or a tensor of any precision and device."""
    if hasattr(given, "detach"):  # of torch: one in bfloat16 or with a gradient is no array yet
        given = given.detach().cpu().double().numpy()
    elif isinstance(given, list | tuple) and any(hasattr(one, "detach") for one in given):
        given = [as_float64(one) for one in given]  # such as the hidden states of a model
    return np.asarray(given, np.float64)


def require_array(given: object, needed: str, dimensions: int | None = None) -> None:
    """Refuse what is no array of numbers, and say what of it is meant.

    Args:
        given: what somebody handed over.
        needed: which array is, and what of a result has it.
        dimensions: how many the array must have; None takes any.

    Raises:
        InputError: says what came.
    """
    is_array = isinstance(given, Sequence) and not isinstance(given, str)
    is_array = is_array or np.isscalar(given) or hasattr(given, "shape")
    found = _dimensions(given) if is_array else None
    if not is_array or dimensions not in (None, found):
        shape = "" if found is None else f" of {found} dimensions"
        numbers = f"{dimensions} are" if is_array else "numbers are"
        came = a_or_an(type(given).__name__) + shape
        raise InputError(f"{came} came where {numbers} needed: hand over {needed}")


def _dimensions(given: Any) -> int:
    if isinstance(given, list | tuple) and given and hasattr(given[0], "detach"):
        return 1 + int(given[0].ndim)
    return np.ndim(given)
