"""Whether a result from elsewhere is one that this program could have measured.

The seals of a file prove that nobody changed it after it was sealed; but anybody can seal. So all
that figures and tables rely on is checked before such a result is let in: the types of its fields,
the shapes of its arrays, and that numbers which are always finite are so.
"""

from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Bool, jaxtyped

from coupling_core.base.errors import InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import ROLES
from coupling_core.base.results import Result
from coupling_core.base.results.base import within
from coupling_core.store.schema import SOUND, is_array, require_text, require_types


def require_sound(result: Result) -> None:
    """Refuse what no measurement could have given.

    Raises `InputError`, whose sentence goes on from the name of the file.
    """
    try:
        _check(result)
    except ValueError as error:
        raise InputError(f"is no sound result: {error}") from error


def _check(result: Result) -> None:
    """Raise a `ValueError` where it is none."""
    _require_types(result)
    for record in (result.request, *result.svds):
        _require_types(record)
    arrays: dict[Any, Any] = {
        item: getattr(result, item.name) for item in fields(result) if is_array(item)
    }
    with jaxtyped("context"):
        for name, size in _sizes(result).items():  # binds the axis of this name
            axis: Any = Bool[np.ndarray, name]
            isinstance(np.broadcast_to(np.False_, size), axis)  # which takes no memory
        for item, value in arrays.items():
            if not isinstance(value, item.type):
                raise ValueError(
                    f"its {item.name} has the shape {np.shape(value)} and the "
                    f"type {getattr(value, 'dtype', None)}, where ({item.type.dim_str}) was "
                    "expected"
                )
    for item, value in arrays.items():
        _require_finite(result, item, value)
    if problem := _contradiction(result):
        raise ValueError(problem)


def _require_types(record: Any) -> None:
    spoken = {
        item.name: getattr(record, item.name) for item in fields(record) if not is_array(item)
    }
    require_types(type(record), spoken, SOUND)
    require_text(spoken)


def _sizes(result: Result) -> dict[str, int]:
    """Axes whose length is known without their arrays."""
    n = len(result.tokens)
    return {
        "role": len(ROLES),
        **dict.fromkeys(("side", "part"), 2),
        **dict.fromkeys(("token", "position"), n),
        **dict.fromkeys(("block", "first", "last"), result.n_blocks),
        "state": result.n_blocks + 1,
        "d": result.width,
    } | {axis: len(names) for axis, names in result.named_axes.items()}


def _require_finite(result: Any, item: Any, value: np.ndarray) -> None:
    if value.dtype.kind != "f":
        return
    axes, here = item.type.dim_str.split(), value
    if "position" in axes:  # NaN where causality forbids
        here = value.compress(result.allowed, axis=axes.index("position"))
    infinite = np.isinf(value).any() and item.name not in result.infinite
    if infinite or (item.name in result.finite and not np.isfinite(here).all()):
        raise ValueError(f"its {item.name} has numbers that are not finite")


def _contradiction(result: Result) -> str:
    """What of a result contradicts something else of it; "" for nothing."""
    n, blocks, whole = len(result.tokens), result.n_blocks, vars(result)
    one_svd = tuple(_sizes(result)[axis] for axis in result.certified_along)
    checks = {
        "it has no tokens, or no blocks": n > 0 and blocks > 0,
        "it holds more triplets than its model is wide": result.k_max <= result.width,
        "its matrices are larger than its triplets are many": result.k_view <= result.k_max,
        "it is not measured to its end": result.complete,
        "it names one thing twice": all(
            len(set(names)) == len(names) for names in result.named_axes.values()
        ),
        "its token is none of the prompt": (
            bool(kind_of(result.request.kind).token) <= whole.get("token", 1) <= n
        ),
        "its ranks lie outside 0..K": (
            "rank" not in whole or within(whole["rank"], 0, whole["singular_values"].shape[-1])
        ),
        "its certificates are not one a Jacobian": (
            not one_svd or np.array(whole["certificates"], object).shape == one_svd
        ),
    }
    every = checks | dict(result.consistency())
    return next((problem for problem, holds in every.items() if not holds), "")
