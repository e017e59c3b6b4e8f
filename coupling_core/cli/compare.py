"""`coupling compare`: two stored results side by side."""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coupling_core.analysis.compare import (
    DIFFERENCE_COLUMNS,
    Comparison,
    depth_wise,
    difference_rows,
    differences,
    summarise,
)
from coupling_core.analysis.compare import compare as compare_results
from coupling_core.analysis.exports import written
from coupling_core.analysis.exports.compare import (
    COMPARISON_AXES,
    comparison_arrays,
    differences_table,
    signed_differences,
)
from coupling_core.analysis.path_comparison import InSpace, OfDepth, OfTokens
from coupling_core.analysis.scores import definition_name
from coupling_core.base.drawing import known_figure
from coupling_core.base.errors import InputError
from coupling_core.base.records import View, parse_blocks
from coupling_core.base.results import Result, TokenMeansResult, TokensResult, TrajectoryResult
from coupling_core.base.units import with_difference
from coupling_core.cli import completing, files, options
from coupling_core.cli.compare_told import tell
from coupling_core.cli.stored import open_result
from coupling_core.cli.terminal import print_json, print_lines, print_table
from coupling_core.store.disk import Store

FigureName = Literal["comparison", "difference", OfTokens, OfDepth, InSpace]
BETWEEN = (TokensResult, TokenMeansResult)
SHOWN = 10
"""Differences in the printed table."""


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The one: a key, its first letters, or a file.",
            autocompletion=completing.keys,
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="The other: a key, its first letters, or a file.",
            autocompletion=completing.keys,
        ),
    ],
    *,
    blocks: options.Blocks = None,
    scores: options.StoredScores,
    figure: Annotated[
        FigureName | None,
        typer.Option(help="Which figure --out draws.", show_default="the first"),
    ] = None,
    output: options.Numbers,
) -> None:
    """Compare two stored results: A, B and A - B of every pair of blocks, in A's numbers.

    Two results between the tokens of one prompt are compared pair by pair, and two trajectories
    by the numbers of their paths, whose figures are all but comparison and difference.
    """
    output.require_writable()
    shelf, out, as_json = Store(output.store), output.out, output.as_json
    corrected = scores.corrected

    def seen(first: Result, second: Result) -> View:
        return scores.view(min(first.default_k, second.default_k))

    one, other = open_result(shelf, a), open_result(shelf, b)
    if isinstance(one, TrajectoryResult) and isinstance(other, TrajectoryResult):
        if blocks is not None or scores != options.StoredScores():
            raise InputError(
                "paths have no K, blocks or scores: leave out --k, --blocks, --definition, --p, "
                "--role and --raw"
            )
        tell(compare_results(one, other), out, figure, as_json=as_json)
        return
    if isinstance(one, BETWEEN) and isinstance(other, BETWEEN):
        if blocks is not None:
            raise InputError("between tokens the blocks are those of the results: omit --blocks")
        compared = compare_results(one, other, seen(one, other), corrected=corrected)
        tell(compared, out, figure, as_json=as_json)
        return
    first, second = depth_wise("A", one), depth_wise("B", other)
    chosen = parse_blocks(blocks, first.n_blocks) if blocks else None
    view = replace(seen(first, second), blocks=chosen)
    found = compare_results(first, second, view, corrected=corrected)
    if out is not None:
        files.write(out, _content(files.ending(out), found, figure))
    if as_json:
        print_json(_summary(found))
    else:
        _show(found, out)


def _content(ending: str, found: Comparison, figure: str | None) -> bytes:
    numbers = written(
        ending,
        lambda: signed_differences(differences_table(found), found),
        partial(comparison_arrays, found),
        COMPARISON_AXES,
        found.attributes(),
    )
    if numbers is not None:
        return numbers
    from coupling_core import figures  # plotly

    drawn = found.plot(known_figure(figure or "comparison", ("comparison", "difference")))
    return figures.render(drawn.figure, ending, found.a, found.view)


def _summary(found: Comparison) -> dict[str, Any]:
    view = found.view
    return {
        "a": _side(found.a.key, found.a.model_name, found.a_scores.blocks),
        "b": _side(found.b.key, found.b.model_name, found.b_scores.blocks),
        "k": view.k,
        "definition": view.definition,
        "p": view.p,
        "role": view.role,
        "score": "corrected" if found.corrected else "coupling",
        "matched_by": "number" if found.same_depth else "relative depth",
        "differ_in": differences(found.a, found.b),
        "summary": asdict(summarise(found)),
        **{
            name: values
            for name, values in comparison_arrays(found).items()
            if name not in ("blocks", "sides")
        },
        "differences": [
            dict(zip(DIFFERENCE_COLUMNS, row, strict=True)) for row in difference_rows(found)
        ],
    }


def _side(key: str, model: str, blocks: tuple[int, ...]) -> dict[str, Any]:
    return {"key": key, "model": model, "blocks": blocks}


def _show(found: Comparison, out: Path | None) -> None:
    of = summarise(found)
    score = "chance-corrected" if found.corrected else "c"
    a, b, apart = with_difference(of.a, of.b, of.difference, digits=4)
    print_lines(
        f"A           {found.a.model_name} {found.a.measured}",
        f"B           {found.b.model_name} {found.b.measured}",
        *(f"differ in   {difference}" for difference in differences(found.a, found.b)),
        f"score       {score}, {definition_name(found.view)}, K = {found.view.k}",
        f"mean        A {a}, B {b}, A - B {apart}, over {of.pairs} pairs l != l'",
        f"correlation {of.correlation:z.3f} of the two maps (Pearson)",
        *([f"floors      {found.floors_told}"] if found.floors_told else []),
        "",
    )
    rows = difference_rows(found)[:SHOWN]
    texts = [(*map(str, row[:4]), *(f"{number:z.3f}" for number in row[4:])) for row in rows]
    print_table(DIFFERENCE_COLUMNS, texts, right=True)
    print_lines(*(["", f"written     {out}"] if out else []))
