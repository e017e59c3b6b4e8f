"""What is said of one result: a table for people, a summary for machines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coupling_core.analysis.exports import row
from coupling_core.analysis.exports.forms import FIRST
from coupling_core.analysis.scores import definition_name
from coupling_core.analysis.ways import ways
from coupling_core.base.kinds import kind_of
from coupling_core.base.numbers import columns, in_rows
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
from coupling_core.sources.aliases import terms_of


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
    numbers, show = more
    if output.as_json:
        print_json(summary(result, view, stored=stored, report=report) | numbers)
        return
    found = {} if report else _found(result, view)
    report = report or result.part("command")
    more_facts: dict[str, object] = getattr(report, "facts", lambda *_: {})(result, view)
    print_lines(*head(result, view), *fact_lines(**found, **more_facts), "")
    getattr(report, "tables", show_rows)(result, view)
    print_lines("", *foot(result, stored=stored, out=output.out))
    show()


def summary(result: Any, view: AnyView, *, stored: bool, report: Any = None) -> dict[str, Any]:
    """Where a result comes from and its numbers in one view, ready for JSON."""
    report = report or result.part("command")
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
        **({"token": result.token} if _at_token(result) else {}),
        **report.summary(result, view),
    }


def _at_token(result: Any) -> bool:
    """Whether it was measured of every block at one token."""
    return kind_of(result.request.kind).token == "measured"


def of_view(result: Result, view: View) -> dict[str, Any]:
    """What of it is stored, and what is looked at."""
    return {"k_max": result.k_max, "k_view": result.k_view, **how_scored(view)}


def how_scored(view: View) -> dict[str, Any]:
    """How scores are looked at."""
    return {"k": view.k, **view.how}


def scored(view: View) -> str:
    """How scores are looked at, in a line."""
    return f"{definition_name(view)}, K = {view.k}"


def head(result: Any, view: AnyView) -> list[str]:
    """The lines that a report begins with."""
    return fact_lines(
        model=result.model_name,
        terms=terms_of(result.identity) or None,
        prompt=repr(result.prompt_text),
        token=result.token_words(result.token) if _at_token(result) else None,
        score=scored(view) if isinstance(view, View) else None,
        blocks=f"{result.n_blocks}, {result.final_norm_words}",
    )


def _found(result: Any, view: AnyView) -> dict[str, str]:
    """The finding in a sentence, and the numbers that stand for the whole result."""
    whole = ((name.replace("_", " "), of) for name, of in row(result, view).items())
    return {
        "found": result.part("views").verdict(result, view),
        "numbers": ", ".join(f"{name} {of:.4g}" for name, of in whole if of == of),
    }


def show_rows(result: Any, view: AnyView, dim: str = "") -> None:
    """Print a row for each block, state or token, with the numbers that have a heading.

    Reports without tables of their own have the rows of their kind's table.
    """
    dim = dim or result.part("numbers").ROWS
    shown = [number for number in in_rows(result, dim) if number.heading]
    texts = list(map(repr, result.tokens)) if dim == "token" else None
    titles = {dim: "d"} | ({"text": ""} if texts else {})
    titles |= {number.heading: number.form for number in shown}
    named = columns(result, view, dim)
    lines = [texts] * bool(texts) + [named[number.name] for number in shown]
    rows = [[at, *each] for at, each in enumerate(zip(*lines, strict=True), FIRST[dim])]
    print_table(titles, rows)


def foot(result: Result, *, stored: bool, out: Path | None = None) -> list[str]:
    """The lines that it ends with: which SVDs are not certified and why, and where it is from."""
    n, failed = len(result.svds), list(_failed(result))
    certified = f"{n - len(failed)} of {n} certified" + "".join(f"; {line}" for line in failed)
    return fact_lines(
        SVDs=certified if n else None,
        Jacobians=ways(result),
        key=result.key,
        origin=_origin(result, stored),
        written=out,
    )


def _failed(result: Any) -> Iterator[str]:
    """The blocks, or blocks and tokens, whose SVDs are not certified, and why."""
    named = getattr(result, "blocks", None) or range(1, result.n_blocks + 1)
    for block, found in zip(named, getattr(result, "certificates", ()), strict=False):
        several = isinstance(found, Sequence)
        for token, one in enumerate(found if several else [found], 1):
            if one is not None and not one.certified:
                yield f"block {block}{f', token {token}' * several}: {one.reason}"


def _origin(result: Result, stored: bool) -> str:
    made = result.provenance
    took = f"computed in {made['seconds']:.1f} s" if "seconds" in made else "computed"
    if made.get("load_seconds"):
        took += f" after {made['load_seconds']:.1f} s of loading"
    elif "load_seconds" in made:
        took += ", with the model in memory already"
    return f"from the store, {took}" if stored else took
