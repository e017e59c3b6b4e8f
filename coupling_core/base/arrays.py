"""Arrays as arguments, and those of records."""

from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Float

from coupling_core.base.errors import InputError


def as_float64(given: Any) -> Float[np.ndarray, "..."]:
    """Numbers as an array, from one of NumPy, a list, or a tensor of any precision and device."""
    if hasattr(given, "detach"):  # of torch: one in bfloat16 or with a gradient is no array yet
        given = given.detach().cpu().double().numpy()
    elif isinstance(given, list | tuple) and any(hasattr(one, "detach") for one in given):
        given = [as_float64(one) for one in given]  # such as the hidden states of a model
    return np.asarray(given, np.float64)


def require_array(given: object, needed: str, dimensions: int | None = None) -> None:
    """Refuse another number of dimensions; it goes as soon as nobody calls it."""
    if dimensions not in (None, as_float64(given).ndim):
        raise InputError(f"expected {needed}, an array of {dimensions} dimensions")


def arrays_of(record: Any) -> dict[str, Any]:
    """The arrays of a dataclass by their names, in the order of its fields."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    return {name: value for name, value in values.items() if hasattr(value, "shape")}
