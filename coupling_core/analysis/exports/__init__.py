"""A result's numbers in the forms that other programs read: NumPy archives and CSV.

    depth, tokens, trajectory    by kind of result: `arrays` by name, and the `table` of them
    forms                        those as the contents of files

A new kind registers its two functions at the end of this file.
"""

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.exports import depth, tokens, trajectory
from coupling_core.analysis.exports.forms import to_csv, to_npz
from coupling_core.base.records import AnyView
from coupling_core.base.results import (
    DepthResult,
    Result,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
)

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

__all__ = ["arrays", "rows", "table", "to_csv", "to_npz"]


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
def rows(result: Result, view: AnyView) -> "DataFrame":
    """What a result says in one view, as a table.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no table is known of a {type(result).__name__}")


def table(result: Result, view: AnyView) -> bytes:
    """The same as CSV."""
    return to_csv(rows(result, view))


arrays.register(DepthResult, depth.arrays)
rows.register(DepthResult, depth.table)
for _kind in (TokensResult, TokenMeansResult):
    arrays.register(_kind, tokens.arrays)
    rows.register(_kind, tokens.table)
arrays.register(TrajectoryResult, trajectory.arrays)
rows.register(TrajectoryResult, trajectory.table)
