"""What is said of one result: a table for people, a summary for machines.

    depth, tokens, trajectory    by kind of result
    common                       what is said of all

A new kind is one more line of `_BY_KIND`.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

from coupling_core.base.records import TOKEN_KINDS, AnyView, Kind
from coupling_core.base.results import Result
from coupling_core.cli.reports import depth, tokens, trajectory

__all__ = ["show", "summary"]

_BY_KIND: dict[Kind, ModuleType] = {
    "depth": depth,
    "trajectory": trajectory,
    **dict.fromkeys(TOKEN_KINDS, tokens),
}


def summary(result: Result, view: AnyView, *, stored: bool) -> dict[str, Any]:
    """Every number of one view, ready for JSON.

    Args:
        result: the result.
        view: how it is looked at: the view of its kind.
        stored: whether it came from the store.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return _BY_KIND[result.request.kind].summary(result, view, stored=stored)


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
    _BY_KIND[result.request.kind].show(result, view, stored=stored, out=out)
