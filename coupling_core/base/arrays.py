"""Arrays as arguments: what is said of a result that came in the place of one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError


def as_float64(given: Any) -> Float[np.ndarray, "..."]:
    """Numbers as an array, from one of NumPy, a list, or a tensor of any precision and device."""
    if hasattr(given, "detach"):  # of torch: one in bfloat16 or with a gradient is no array yet
        given = given.detach().cpu().double().numpy()
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
    found = np.ndim(given) if is_array else None  # type: ignore[arg-type]
    if not is_array or dimensions not in (None, found):
        shape = "" if found is None else f" of {found} dimensions"
        numbers = f"{dimensions} are" if is_array else "numbers are"
        raise InputError(
            f"a {type(given).__name__}{shape} came where {numbers} needed: hand over {needed}"
        )
