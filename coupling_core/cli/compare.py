"""`coupling compare`: two stored results side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from coupling_core.analysis.alignment import differences
from coupling_core.analysis.compare import AXES, Comparison, TokenComparison
from coupling_core.analysis.compare import compare as compare_results
from coupling_core.analysis.exports import signed_differences
from coupling_core.analysis.path_comparison import APART, PathComparison, figures_of_both
from coupling_core.base.errors import InputError
from coupling_core.cli import completing, files, options, reports
from coupling_core.cli.terminal import fact_lines, print_lines, print_table

AnyComparison = Comparison | TokenComparison | PathComparison
SHOWN = 10
"""Rows of the printed table."""
_FORMS = {"f": "z.4g", "i": "d"}
"""Of its columns, by the kind of their numbers."""


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
    of_any_kind: Callable[..., AnyComparison] = compare_results  # which no type checker knows
    found = of_any_kind(
        output.open(a),
        output.open(b),
        blocks=blocks or None,
        **{name: of for name, of in vars(scores).items() if of != getattr(options.Scores, name)},
    )
    if output.out is not None:
        _write(output.out, found, figure)
    output.tell(lambda: _summary(found), lambda: _show(found))


def _write(out: Path, found: AnyComparison, figure: str | None) -> None:
    """Write the file that --out names."""
    maps = found if isinstance(found, Comparison) else None
    if not maps and files.ending(out) in (".npz", ".nc"):
        raise InputError(f"of these two there is a table or a figure, and no {out.suffix} file")
    named: tuple[Any, ...] = (figure,) if figure else ()
    files.write_numbers(
        out,
        lambda: signed_differences(found.to_pandas(), found),
        lambda: {n: (tuple(AXES[n]), of) for n, of in maps.arrays().items()} if maps else {},
        maps.attributes() if maps else None,
        lambda ending: found.plot(*named).render(ending),
    )


def _summary(found: AnyComparison) -> dict[str, Any]:
    sides: dict[str, Any] = {
        name: {"key": side.key, "model": side.model_name}
        for name, side in (("a", found.a), ("b", found.b))
    }
    if not isinstance(found, Comparison):
        return sides | {"verdict": found.verdict, "rows": found.to_pandas().to_dict("records")}
    sides["a"]["blocks"], sides["b"]["blocks"] = found.a_scores.blocks, found.b_scores.blocks
    arrays = found.arrays()
    return {
        **sides,
        **reports.how_scored(found.view),
        "score": found.score,
        "matched_by": "number" if found.same_depth else "relative depth",
        "differ_in": differences(found.a, found.b),
        "summary": found.mean(),
        **{name: of for name, of in arrays.items() if name not in ("blocks", "sides")},
        "differences": found.to_pandas().to_dict("records"),
    }


def _show(found: AnyComparison) -> None:
    print_lines(found.verdict, *fact_lines(differ_in=differences(found.a, found.b)), "")
    table = found.to_pandas()
    forms = {str(name): _FORMS.get(of.dtype.kind, "") for name, of in table.items()}
    print_table(forms, table.head(SHOWN).itertuples(index=False))
