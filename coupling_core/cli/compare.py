"""`coupling compare`: two stored results side by side."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison, TokenComparison
from coupling_core.analysis.compare import compare as compare_results
from coupling_core.analysis.exports import written
from coupling_core.analysis.exports.compare import (
    COMPARISON_AXES,
    comparison_arrays,
    signed_differences,
)
from coupling_core.analysis.path_comparison import APART, PathComparison, figures_of_both
from coupling_core.base.errors import InputError
from coupling_core.cli import completing, files, options
from coupling_core.cli.stored import open_result
from coupling_core.cli.terminal import print_lines, print_table
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

AnyComparison = Comparison | TokenComparison | PathComparison
SHOWN = 10
"""Rows of the printed table."""


def stored(name: str, words: str) -> Any:
    """The argument that names one of two stored results."""
    told = f"{words}: a key, its first letters, or a file."
    return typer.Argument(metavar=name, help=told, autocompletion=completing.keys)


A = Annotated[str, stored("A", "The one")]
B = Annotated[str, stored("B", "The other")]


def compare(
    a: A,
    b: B,
    *,
    blocks: options.Blocks = None,
    scores: options.StoredScores,
    figure: Annotated[
        str | None,
        options.figure_option(
            ("comparison", "difference", *figures_of_both(), APART),
            help="Which figure --out draws.",
            show_default="the first",
        ),
    ] = None,
    output: options.Numbers,
) -> None:
    """Compare two stored results: A, B and A - B of every pair of blocks, in A's numbers.

    Two results between the tokens of one prompt are compared pair by pair, and two trajectories
    by the numbers of their paths, whose figures are all but comparison and difference.
    """
    output.require_writable()
    shelf, out = Store(output.store), output.out
    of_any_kind: Callable[..., AnyComparison] = compare_results  # which no type checker knows
    found = of_any_kind(
        open_result(shelf, a),
        open_result(shelf, b),
        blocks=blocks or None,
        k=scores.k,
        definition=None if scores.definition == "paper" else scores.definition,
        p=None if scores.p == 1 else scores.p,
        role=None if scores.role == "A" else scores.role,
        corrected=scores.corrected,
    )
    if out is not None:
        _write(out, found, figure)
    output.tell(
        lambda: _summary(found) if isinstance(found, Comparison) else _rows_summary(found),
        lambda: _show(found, out),
    )


def _write(out: Path, found: AnyComparison, figure: str | None) -> None:
    """Write the file that --out names."""
    ending = files.ending(out)

    def table() -> "DataFrame":
        return signed_differences(found.to_pandas(), found)

    if isinstance(found, Comparison):
        arrays = partial(comparison_arrays, found)
        content = written(ending, table, arrays, COMPARISON_AXES, found.attributes())
    elif ending in (".npz", ".nc"):
        raise InputError(f"of these two there is a table or a figure, and no {ending} file")
    else:
        content = written(ending, table, dict, {})
    if content is not None:
        files.write(out, content)
    else:
        named: tuple[Any, ...] = (figure,) if figure else ()
        found.plot(*named).save(out)


def _records(found: AnyComparison) -> list[dict[str, Any]]:
    """The rows of its table."""
    columns = found.columns()
    rows = zip(*(np.asarray(of, object).tolist() for of in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _summary(found: Comparison) -> dict[str, Any]:
    view, arrays = found.view, comparison_arrays(found)
    sides = {"a": (found.a, found.a_scores), "b": (found.b, found.b_scores)}
    return {
        **{
            side: {"key": of.key, "model": of.model_name, "blocks": scores.blocks}
            for side, (of, scores) in sides.items()
        },
        "k": view.k,
        "definition": view.definition,
        "p": view.p,
        "role": view.role,
        "score": found.score,
        "matched_by": "number" if found.same_depth else "relative depth",
        "differ_in": differences(found.a, found.b),
        "summary": asdict(found.mean()),
        **{name: of for name, of in arrays.items() if name not in ("blocks", "sides")},
        "differences": _records(found),
    }


def _rows_summary(found: TokenComparison | PathComparison) -> dict[str, Any]:
    sides = {"a": found.a, "b": found.b}
    return {
        **{side: {"key": of.key, "model": of.model_name} for side, of in sides.items()},
        "verdict": found.verdict,
        "rows": _records(found),
    }


def _show(found: AnyComparison, out: Path | None) -> None:
    apart = [f"differ in   {difference}" for difference in differences(found.a, found.b)]
    print_lines(found.verdict, *apart, "")
    rows = [[_cell(cell) for cell in row.values()] for row in _records(found)[:SHOWN]]
    print_table(tuple(found.columns()), rows, right=True)
    print_lines(*(["", f"written     {out}"] if out else []))


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:z.4g}"
    return str(cell)
