"""A result's numbers in the forms that other programs read: NumPy archives and CSV.

    depth, tokens, trajectory    by kind of result: `arrays` by name, and the `table` of them
    forms                        those as the contents of files

A new kind is one more line of `_BY_KIND`.
"""

from types import ModuleType

import numpy as np

from coupling_core.analysis.exports import depth, tokens, trajectory
from coupling_core.analysis.exports.forms import to_csv, to_npz
from coupling_core.base.records import TOKEN_KINDS, AnyView, Kind
from coupling_core.base.results import Result

__all__ = ["arrays", "table", "to_csv", "to_npz"]

_BY_KIND: dict[Kind, ModuleType] = {
    "depth": depth,
    "trajectory": trajectory,
    **dict.fromkeys(TOKEN_KINDS, tokens),
}


def arrays(result: Result, view: AnyView, k_view: int | None = None) -> dict[str, np.ndarray]:
    """What a result holds, by name, in one view.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        k_view: largest side of the matrices; None gives all that is stored.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return _BY_KIND[result.request.kind].arrays(result, view, k_view)


def table(result: Result, view: AnyView) -> bytes:
    """What a result says in one view, as CSV.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return to_csv(_BY_KIND[result.request.kind].table(result, view))
