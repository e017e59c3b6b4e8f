"""`coupling compare` of two results between tokens, or of two trajectories."""

from pathlib import Path
from typing import Any

from coupling_core.analysis.exports import to_csv, to_parquet
from coupling_core.analysis.exports.compare import signed_differences
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.analysis.token_comparison import TokenComparison
from coupling_core.base.errors import InputError
from coupling_core.base.records import PathView
from coupling_core.cli import files
from coupling_core.cli.terminal import print_json, print_lines, print_table

TABLES = {".csv": to_csv, ".parquet": to_parquet}
SHOWN = 10
"""Rows of the printed table."""


def tell(
    found: TokenComparison | PathComparison, out: Path | None, figure: str | None, *, as_json: bool
) -> None:
    """Tell what a comparison comes to.

    Args:
        found: the comparison.
        out: the file to write, a table or a figure; None writes none.
        figure: which figure; None is the first.
        as_json: whether JSON is printed.

    Raises:
        InputError: where there is no such file of it.
    """
    if out is not None:
        files.write(out, _content(found, files.ending(out), figure))
    table = found.to_pandas()
    if as_json:
        named = {"a": found.a, "b": found.b}
        sides = {side: {"key": of.key, "model": of.model_name} for side, of in named.items()}
        print_json(sides | {"verdict": found.verdict, "rows": table.to_dict("records")})
        return
    print_lines(found.verdict, "")
    rows = [[_cell(cell) for cell in row] for row in table.head(SHOWN).itertuples(index=False)]
    print_table(tuple(table.columns), rows, right=True)
    print_lines(*(["", f"written     {out}"] if out else []))


def _content(found: TokenComparison | PathComparison, ending: str, figure: str | None) -> bytes:
    if ending in TABLES:
        return TABLES[ending](signed_differences(found.to_pandas(), found))
    if ending in (".npz", ".nc"):
        raise InputError(f"of these two there is a table or a figure, and no {ending} file")
    from coupling_core import figures  # plotly

    view = found.view if isinstance(found, TokenComparison) else PathView()
    named: tuple[Any, ...] = (figure,) if figure else ()
    return figures.render(found.plot(*named).figure, ending, found.a, view)


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:z.4g}"
    return str(cell)
