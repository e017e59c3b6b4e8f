"""What is said of a result of which nothing else is to be said than its numbers."""

from typing import Any

from coupling_core.analysis.exports import arrays, row
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result


def summary(result: Result, view: AnyView) -> dict[str, Any]:
    """Every number of one view, ready for JSON."""
    return {"whole": row(result, view)} | arrays(result, view)
