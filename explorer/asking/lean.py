"""Results of many prompts in memory, without what no mean over them needs.

A change of K or of the definition looks at all of them again, and is to be answered at once.
"""

from collections import OrderedDict
from dataclasses import fields, replace
from threading import Lock

import numpy as np

from coupling_core.base.records import Request
from coupling_core.base.results import DepthResult, Result, TrajectoryResult
from explorer.server import backend

MOST = 200_000_000
"""Bytes that are kept, the last looked at."""

_kept: OrderedDict[str, tuple[Result, int]] = OrderedDict()
_lock = Lock()


def read(request: Request, key: str) -> Result | None:
    """A stored result without its matrices and states; None where it cannot be read."""
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key][0]
    found = backend.find(request)
    if found is None:
        return None
    found = _lean(found)
    with _lock:
        _kept[key] = found, _size(found)
        while len(_kept) > 1 and sum(size for _, size in _kept.values()) > MOST:
            _kept.popitem(last=False)
    return found


def _lean(result: Result) -> Result:
    if isinstance(result, DepthResult):
        # Copies: a part of an array keeps the whole of it in memory.
        few = {"matrices": result.matrices[..., :0, :0], "angles": result.angles[..., :0]}
        return replace(result, **{name: part.copy() for name, part in few.items()})
    if isinstance(result, TrajectoryResult):
        return replace(result, states=result.states[:, :0].copy(), kept=result.kept[:0].copy())
    return result


def _size(result: Result) -> int:
    values = (getattr(result, item.name) for item in fields(result))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
