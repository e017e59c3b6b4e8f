"""What is said of one result: a table for people, a summary for machines.

depth     one file a kind of result
common    what is said of all
"""

from functools import singledispatch
from pathlib import Path
from typing import Any

from coupling_core.cli.reports import depth
from coupling_core.records import View
from coupling_core.results import DepthResult, Result

__all__ = ["show", "summary"]


@singledispatch
def summary(result: Result, view: View, *, stored: bool) -> dict[str, Any]:
    """Every number of one view, ready for JSON.

    Args:
        result: the result.
        view: K, definition, role and blocks.
        stored: whether it came from the store.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no summary is known of a {type(result).__name__}")


@singledispatch
def show(result: Result, view: View, *, stored: bool, out: Path | None = None) -> None:
    """Print one result: whose it is, its numbers in one view, and its key.

    Args:
        result: the result.
        view: K, definition, role and blocks.
        stored: whether it came from the store.
        out: the file that was written.

    Raises:
        InputError: where K or a block is not in the result.
    """
    raise TypeError(f"no report is known of a {type(result).__name__}")


summary.register(DepthResult, depth.summary)
show.register(DepthResult, depth.show)
