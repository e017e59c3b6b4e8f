"""What is said of one result: a table for people, a summary for machines.

depth     one file a kind of result
common    what is said of all
"""

from functools import singledispatch
from pathlib import Path
from typing import Any

from coupling_core.cli.reports import depth, trajectory
from coupling_core.records import AnyView
from coupling_core.results import DepthResult, Result, TrajectoryResult

__all__ = ["show", "summary"]


@singledispatch
def summary(result: Result, view: AnyView, *, stored: bool) -> dict[str, Any]:
    """Every number of one view, ready for JSON.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        stored: whether it came from the store.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no summary is known of a {type(result).__name__}")


@singledispatch
def show(result: Result, view: AnyView, *, stored: bool, out: Path | None = None) -> None:
    """Print one result: whose it is, its numbers in one view, and its key.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        stored: whether it came from the store.
        out: the file that was written.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no report is known of a {type(result).__name__}")


summary.register(DepthResult, depth.summary)
show.register(DepthResult, depth.show)
summary.register(TrajectoryResult, trajectory.summary)
show.register(TrajectoryResult, trajectory.show)
