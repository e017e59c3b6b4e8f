"""A result's numbers in the forms that other programs read: NumPy archives and CSV.

    forms                       both as the contents of files
    compare, graph, training    of what is no one result

Those of a result are in the folder of its kind.
"""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.exports.forms import to_csv, to_npz
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

__all__ = ["arrays", "frame", "table", "to_csv", "to_npz"]


def arrays(result: Result, view: AnyView, k_view: int | None = None) -> dict[str, np.ndarray]:
    """What a result holds, by name, in one view.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        k_view: largest side of the matrices; None gives all that is stored.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return kind_of(result.request.kind).part("export").arrays(result, view, k_view)


def frame(result: Result, view: AnyView) -> "DataFrame":
    """What a result says in one view, as a table.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return kind_of(result.request.kind).part("export").table(result, view)


def table(result: Result, view: AnyView) -> bytes:
    """The same as CSV."""
    return to_csv(frame(result, view))
