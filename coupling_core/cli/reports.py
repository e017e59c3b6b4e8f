"""What is said of one result: a table for people, a summary for machines."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coupling_core.analysis.exports.forms import FIRST
from coupling_core.analysis.ways import ways
from coupling_core.base.kinds import kind_of
from coupling_core.base.numbers import columns, in_rows
from coupling_core.base.records import AnyView, View
from coupling_core.base.results import Result
from coupling_core.cli.terminal import NOTHING, Told, print_json, print_lines, print_table


def tell(
    result: Result,
    view: AnyView,
    *,
    stored: bool,
    as_json: bool,
    out: Path | None = None,
    more: Told = NOTHING,
) -> None:
    """Print one result: whose it is, its numbers in one view, its key, and `more`."""
    numbers, show = more
    if as_json:
        print_json(summary(result, view, stored=stored) | numbers)
        return
    report = kind_of(result.request.kind).part("report")
    print_lines(*head(result), *report.facts(result, view), "")
    report.tables(result, view)
    print_lines("", *foot(result, stored=stored, out=out))
    show()


def summary(result: Result, view: AnyView, *, stored: bool) -> dict[str, Any]:
    """Whose a result is and its numbers in one view, ready for JSON."""
    report = kind_of(result.request.kind).part("report")
    numbers: dict[str, Any] = report.summary(result, view)
    return about(result, stored=stored) | numbers


def about(result: Any, *, stored: bool) -> dict[str, Any]:
    """Where a result comes from, ready for JSON."""
    made = result.provenance
    return {
        "key": result.key,
        "stored": stored,
        "seconds": made.get("seconds"),
        "load_seconds": made.get("load_seconds"),
        "model": result.identity.get("name"),
        "request": asdict(result.request),
        "identity": dict(result.identity),
        "tokens": result.tokens,
        "n_blocks": result.n_blocks,
        "width": result.width,
        "provenance": dict(made),
        **({"token": result.token} if _at_token(result) else {}),
    }


def _at_token(result: Any) -> bool:
    """Whether it was measured of every block at one token."""
    return kind_of(result.request.kind).token == "measured"


def of_view(result: Result, view: View) -> dict[str, Any]:
    """What of it is stored, and what is looked at."""
    return {"k_max": result.k_max, "k_view": result.k_view, **vars(view)}


def head(result: Any) -> list[str]:
    """The lines that a report begins with."""
    return [
        f"model       {result.model_name}",
        f"prompt      {result.prompt_text!r}",
        *([f"token       {result.token_words(result.token)}"] if _at_token(result) else []),
    ]


def show_rows(result: Result, view: AnyView) -> None:
    """Print the rows of a kind's table, with the numbers that have a heading."""
    dim = kind_of(result.request.kind).part("numbers").ROWS
    shown = [number for number in in_rows(result, dim) if number.heading]
    texts = list(map(repr, result.tokens)) if dim == "token" else None
    titles = {dim: "d"} | ({"text": ""} if texts else {})
    titles |= {number.heading: number.form for number in shown}
    named = columns(result, view, dim)
    lines = [texts] * bool(texts) + [named[number.name] for number in shown]
    rows = [[at, *each] for at, each in enumerate(zip(*lines, strict=True), FIRST[dim])]
    print_table(titles, rows, right=True)


def foot(result: Result, *, stored: bool, out: Path | None = None) -> list[str]:
    """The lines that it ends with: which SVDs are not certified and why, and where it is from."""
    n, failed = len(result.svds), list(_failed(result))
    certified = f"{n - len(failed)} of {n} certified" + "".join(f"; {line}" for line in failed)
    return [
        *([f"SVDs        {certified}"] if n else []),
        *(f"{'Jacobians' if not i else '':11} {line}" for i, line in enumerate(ways(result))),
        f"key         {result.key}",
        f"origin      {_origin(result, stored)}",
        *([f"written     {out}"] if out else []),
    ]


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
