"""A result's numbers in the forms that other programs read: NumPy archives and CSV.

depth    one file a kind of result: `arrays` by name, and the `table` of its scores
forms    those as the contents of files
"""

from functools import singledispatch

import numpy as np

from coupling_core.exports import depth, trajectory
from coupling_core.exports.forms import to_csv, to_npz
from coupling_core.records import AnyView
from coupling_core.results import DepthResult, Result, TrajectoryResult

__all__ = ["arrays", "table", "to_csv", "to_npz"]


@singledispatch
def arrays(result: Result, view: AnyView, k_view: int | None = None) -> dict[str, np.ndarray]:
    """What a result holds, by name, in one view.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        k_view: largest side of the matrices; None gives all that is stored.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no arrays are known of a {type(result).__name__}")


@singledispatch
def table(result: Result, view: AnyView) -> bytes:
    """What a result says in one view, as CSV.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no table is known of a {type(result).__name__}")


arrays.register(DepthResult, depth.arrays)
table.register(DepthResult, depth.table)
arrays.register(TrajectoryResult, trajectory.arrays)
table.register(TrajectoryResult, trajectory.table)
