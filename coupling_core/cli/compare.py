"""`coupling compare`: two stored results side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import Comparison, TokenComparison
from coupling_core.analysis.compare import compare as compare_results
from coupling_core.analysis.exports import signed_differences
from coupling_core.analysis.path_comparison import APART, PathComparison, figures_of_both
from coupling_core.base.errors import InputError
from coupling_core.cli import completing, files, options, reports
from coupling_core.cli.terminal import fact_lines, print_frame, print_lines

SHOWN = 10
"""Rows of the printed table."""
if TYPE_CHECKING:
    Figure = str
else:  # what is offered, and taken
    Figure = Literal["comparison", "difference", *figures_of_both(), APART]


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
    scores: options.Scores,
    figure: Annotated[
        Figure | None, typer.Option(help="Which figure --out draws.", show_default="the first")
    ] = None,
    output: options.Numbers,
) -> None:
    """Compare two stored results: A, B and A - B of every pair of blocks, in A's numbers.

    Two results between the tokens of one prompt are compared pair by pair, and two trajectories
    by the numbers of their paths, whose figures are all but comparison and difference.
    """
    output.require_writable()
    of_any_kind: Callable[..., Comparison | PathComparison] = (
        compare_results  # which no type checker knows
    )
    found = of_any_kind(
        output.open(a),
        output.open(b),
        blocks=blocks or None,
        **{name: of for name, of in vars(scores).items() if of != getattr(options.Scores, name)},
    )
    if output.out is not None:
        _write(output.out, found, figure)
    output.tell(lambda: _summary(found), lambda: _show(found))


def _write(out: Path, found: Comparison | PathComparison, figure: str | None) -> None:
    """Write the file that --out names."""
    maps = found if isinstance(found, Comparison) else None
    if not maps and files.ending(out) in (".npz", ".nc"):
        raise InputError(f"of two trajectories there is a table or a figure, and no {out.suffix}")
    named: tuple[Any, ...] = (figure,) if figure else ()
    files.write_numbers(
        out,
        lambda: signed_differences(found.to_pandas(), found),
        lambda: maps.variables() if maps else {},
        maps.attributes() if maps else None,
        lambda ending: found.plot(*named).render(ending),
    )


def _summary(found: Comparison | PathComparison) -> dict[str, Any]:
    sides: dict[str, Any] = {
        name: {"key": side.key, "model": side.model_name}
        for name, side in (("a", found.a), ("b", found.b))
    }
    if isinstance(found, PathComparison | TokenComparison):
        return sides | {"verdict": found.verdict, "rows": found.to_pandas().to_dict("records")}
    arrays = found.arrays()
    sides["a"]["blocks"], sides["b"]["blocks"] = arrays.pop("blocks")
    return {
        **sides,
        **reports.how_scored(found.view),
        "score": found.score,
        "matched_by": "number" if found.same_depth else "relative depth",
        "differ_in": differences(found.a, found.b),
        "summary": found.mean(),
        **{name: of for name, of in arrays.items() if name != "sides"},
        "differences": found.to_pandas().to_dict("records"),
    }


def _show(found: Comparison | PathComparison) -> None:
    print_lines(found.verdict, *fact_lines(differ_in=differences(found.a, found.b)), "")
    print_frame(found.to_pandas().head(SHOWN))
