"""What is said of one result: a table for people, a summary for machines.

    depth, tokens, trajectory    by kind of result
    common                       what is said of all

A new kind registers its two functions at the end of this file.
"""

from functools import singledispatch
from pathlib import Path
from typing import Any

from coupling_core.base.records import AnyView
from coupling_core.base.results import (
    DepthResult,
    Result,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
)
from coupling_core.cli.reports import depth, tokens, trajectory

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
for _kind in (TokensResult, TokenMeansResult):
    summary.register(_kind, tokens.summary)
    show.register(_kind, tokens.show)
summary.register(TrajectoryResult, trajectory.summary)
show.register(TrajectoryResult, trajectory.show)
