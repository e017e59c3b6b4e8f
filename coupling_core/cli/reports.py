"""What is said of one result: a table for people, a summary for machines."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from coupling_core.analysis.ways import ways
from coupling_core.base.kinds import kind_of
from coupling_core.base.numbers import Number
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result
from coupling_core.cli.options import Output
from coupling_core.cli.terminal import (
    NOTHING,
    Told,
    fact_lines,
    print_json,
    print_lines,
    print_table,
)


def together(parts: Mapping[str, Told]) -> Told:
    """What is reported of several things, by name in JSON, and printed one after the other."""

    def show() -> None:
        for _, each in parts.values():
            each()

    return {name: numbers for name, (numbers, _) in parts.items()}, show


def tell(
    result: Result,
    view: AnyView,
    output: Output,
    *,
    stored: bool,
    more: Told = NOTHING,
    report: Any = None,
) -> None:
    """Print one result: whose it is, its numbers in one view, its key, and `more`.

    The numbers are told by `report`, or by the report of its kind.
    """
    report, (numbers, show) = report or kind_of(result.request.kind).part("report"), more
    if output.as_json:
        print_json(about(result, stored=stored) | report.summary(result, view) | numbers)
        return
    report.show(result, view)
    print_lines("", *foot(result, stored=stored, out=output.out))
    show()


def about(result: Result, *, stored: bool) -> dict[str, Any]:
    """Where a result comes from, ready for JSON."""
    made = result.provenance
    return {
        "key": result.key,
        "stored": stored,
        "seconds": made.get("seconds"),
        "load_seconds": made.get("load_seconds"),
        "model": result.identity.get("name"),
        "request": result.request,
        "identity": result.identity,
        "tokens": result.tokens,
        "n_blocks": result.n_blocks,
        "width": result.width,
        "provenance": made,
    }


def of_view(result: Result, view: View) -> dict[str, Any]:
    """What of it is stored, and what is looked at."""
    return {"k_max": result.k_max, "k_view": result.k_view, **how_scored(view)}


def how_scored(view: View) -> dict[str, Any]:
    """How scores are looked at."""
    return {"k": view.k, "definition": view.definition, "p": view.p, "role": view.role}


def head(result: Result) -> list[str]:
    """The lines that a report begins with."""
    return fact_lines(model=result.model_name, prompt=repr(result.prompt_text))


def show_rows(dim: str, n: int, named: Mapping[str, np.ndarray], numbers: Iterable[Number]) -> None:
    """Print a line for each of `n` blocks or tokens, with the numbers that have a heading."""
    shown = [number for number in numbers if number.heading]
    titles = {dim: "d"} | {number.heading: number.form for number in shown}
    rows = [[at + 1, *(named[number.name][at] for number in shown)] for at in range(n)]
    print_table(titles, rows, right=True)


def foot(result: Result, *, stored: bool, out: Path | None = None) -> list[str]:
    """The lines that it ends with."""
    n, failed, made = len(result.svds), _uncertified(result), ways(result)
    certified = f"{n - len(failed)} of {n} certified" + "".join(f"; {line}" for line in failed)
    return [
        *fact_lines(SVDs=certified if n else None, Jacobians=made[0] if made else None),
        *(f"{'':11} {line}" for line in made[1:]),
        *fact_lines(key=result.key, origin=_origin(result, stored), written=out),
    ]


def _uncertified(result: Result) -> list[str]:
    """The SVDs that are not certified, of blocks or of their tokens, and why."""
    blocks = getattr(result, "blocks", range(1, result.n_blocks + 1))
    failed: list[str] = []
    for block, each in dict(zip(blocks, getattr(result, "certificates", ()), strict=False)).items():
        of = {f"block {block}": each}
        if isinstance(each, tuple):
            of = {f"block {block}, token {number}": one for number, one in enumerate(each, 1)}
        failed += [f"{at}: {one.reason}" for at, one in of.items() if one and not one.certified]
    return failed


def _origin(result: Result, stored: bool) -> str:
    made = result.provenance
    took = f"computed in {made['seconds']:.1f} s" if "seconds" in made else "computed"
    if made.get("load_seconds"):
        took += f" after {made['load_seconds']:.1f} s of loading"
    elif "load_seconds" in made:
        took += ", with the model in memory already"
    return f"from the store, {took}" if stored else took
