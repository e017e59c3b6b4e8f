"""The report of a sweep as a file, from Python; `coupling sweep report` writes the same."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from coupling_core.base.errors import InputError
from coupling_core.base.folders import expanded
from coupling_core.base.writing import write_whole, writing
from coupling_core.experiments.sweeps.plan import Plan

if TYPE_CHECKING:  # half a second to import
    import pandas as pd

    from coupling_core.analysis.findings import Question


def write_report(
    path: str | os.PathLike[str],
    plan: Plan,
    table: "pd.DataFrame",
    question: "Question | None" = None,
) -> Path:
    """Write what a sweep says of coupling and performance, with figures, in one file.

    Args:
        path: where to; it ends in `.html`, and a file of that name is replaced.
        plan: the sweep.
        table: its scores, as `make_table` gives them.
        question: what is asked of them; None is the first K of all models, and the first
            performance that is known.

    Returns:
        the path that was written.

    Raises:
        InputError: on another ending, where the table has no
            depth-wise row, or where nothing can be written.
        ComputeError: where the disk is full.
    """
    path = expanded(path)
    if path.suffix != ".html":
        raise InputError(f"a report is written as .html, and {path.name!r} came")
    from coupling_core.analysis.findings import first_question
    from coupling_core.experiments.sweeps.report import report  # plotly

    asked = question or first_question(table, plan.sweep.k)
    content = report(plan.described, table, asked)
    with writing(path):
        write_whole(path, content)
    return path
