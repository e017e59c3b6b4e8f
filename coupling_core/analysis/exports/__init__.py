"""A result's numbers in the forms that other programs read.

    forms                       arrays as NPZ and NetCDF, tables as CSV and Parquet
    naming                      whose numbers a file has: its name, and columns
    compare, graph, training    of what is no one result

Those of a result are in the folder of its kind.
"""

from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.exports.forms import (
    ENDINGS,
    to_csv,
    to_netcdf,
    to_npz,
    to_parquet,
    written,
)
from coupling_core.analysis.exports.naming import file_name, signed
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

__all__ = [  # noqa: RUF022 - by use, not by name
    "arrays",
    "axes",
    "attributes",
    "frame",
    "table",
    "file_name",
    "signed",
    "ENDINGS",
    "to_csv",
    "to_netcdf",
    "to_npz",
    "to_parquet",
    "written",
]


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


def axes(result: Result) -> dict[str, tuple[str, ...]]:
    """Names of the axes of each array of a result."""
    return dict(kind_of(result.request.kind).part("export").axes(result))


def attributes(result: Result, view: AnyView) -> dict[str, str | int | float]:
    """What a file tells of a result beside its numbers: whose it is, and how it is looked at."""
    told = {
        name: value for name, value in vars(view).items() if isinstance(value, str | int | float)
    }
    return told | {
        "model": str(result.identity.get("name", "")),
        "prompt": result.prompt_text,
        "kind": result.request.kind,
        "key": result.key,
        "certified": int(result.certified),
    }


def frame(result: Result, view: AnyView) -> "DataFrame":
    """What a result says in one view, as a table, whose `attrs` say whose it is.

    Raises:
        InputError: where K or a block is not in the result.
    """
    found: DataFrame = kind_of(result.request.kind).part("export").table(result, view)
    found.attrs.update(result.attributes())
    return found


def table(result: Result, view: AnyView) -> bytes:
    """The same as CSV."""
    return to_csv(frame(result, view))
