"""`coupling runs`: the stored results."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from coupling_core.base.drawing import plot
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import AnyView, View
from coupling_core.base.units import counted, cut
from coupling_core.base.writing import writing
from coupling_core.cli import completing, files, options, reports
from coupling_core.cli.terminal import print_lines, print_records, progress_bar, say
from coupling_core.measuring.recheck import Recheck
from coupling_core.measuring.recheck import recheck as recheck_result
from coupling_core.store.archive import SUFFIX
from coupling_core.store.disk import Entry, Store
from coupling_core.store.packs import pack, unpack

app = typer.Typer(
    help="The stored results: list, show, verify, recheck, remove, hand on.", no_args_is_help=True
)

SHOWN = ("Key", "Size", "Model", "Weights", "Kind", "Token", "Prompt", "Certified", "From", "Note")
"""Columns of a list."""
WIDTH = 40
"""Characters of a prompt in it."""

Key = Annotated[
    str,
    typer.Argument(help="A key, its first letters, or a file.", autocompletion=completing.keys),
]
Keys = Annotated[
    list[str] | None, typer.Argument(help="Keys, or their first letters; all by default.")
]


@app.command("list")
def list_(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only results whose line has each of these words, such as a model's."),
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="Leave out results that are only read.")
    ] = False,
    report: options.Report,
) -> None:
    """List the stored results, the last used first."""
    wanted = " ".join(words or [])
    entries = [
        entry
        for entry in report.shelf.entries()
        if not (own and entry.read_only) and entry.matches(wanted)
    ]
    if words and not entries:
        say(f"no stored result has {' and '.join(map(repr, words))} in its line")
    report.tell(
        lambda: [vars(entry) | {"outdated": entry.outdated} for entry in entries],
        lambda: print_records(map(_row, entries)),
    )


def _row(entry: Entry) -> dict[str, Any]:
    """What is printed of a result."""
    prompt = entry.problem or repr(cut(str(entry.row["Prompt"]), WIDTH))
    return {name: entry.row.get(name) for name in SHOWN} | {"Prompt": prompt}


@app.command()
def show(
    *,
    key: Key,
    k: options.K = None,
    definition: options.Definition = "paper",
    output: options.Output,
) -> None:
    """Show one stored result, or write its numbers or the first figure of its page."""
    output.require_writable()
    result = output.open(key)
    kind = kind_of(result.request.kind)
    view: AnyView = kind.view()
    if kind.has_k:
        view = View(result.default_k if k is None else k, definition)
    if output.out is not None:
        files.write_result(output.out, result, view, lambda *seen: plot(*seen).figure)
    reports.tell(result, view, output, stored=True)


@app.command()
def verify(keys: Keys = None, store: options.StoreFolder = None) -> None:
    """Read stored results to their last byte, and say which are damaged."""
    shelf = Store(store)
    problems = {key: shelf.verify(key) for key in _full(shelf, keys)}
    print_lines(*(f"{key}  {problem or 'sound'}" for key, problem in problems.items()))
    if damaged := sum(map(bool, problems.values())):
        of = counted(len(problems), "result")
        raise ComputeError(f"{damaged} of {of} cannot be read: remove them")


def _full(shelf: Store, keys: Iterable[str] | None) -> list[str]:
    """The whole keys of results, a file by its name; of all, where none is named."""
    if not keys:
        return [entry.key for entry in shelf.entries()]
    return [key if key.endswith(SUFFIX) else shelf.full_key(key) for key in keys]


@app.command()
def recheck(
    *,
    keys: Annotated[
        list[str] | None, typer.Argument(help="Keys, their first letters, or files.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All stored results.")] = False,
    device: options.Device = None,
    report: options.Report,
) -> None:
    """Run only the forward pass of stored results again: does the model give what it gave?"""
    if bool(keys) == every:
        raise InputError("give keys of stored results, or --all")
    found = []
    with progress_bar() as bar:
        for key in _full(report.shelf, keys):
            try:
                one = recheck_result(report.open(key), device=device, progress=bar)
            except ComputeError as error:  # its file is damaged
                one = Recheck(key, "unknown", why=str(error))
            found.append(one)
            if not report.as_json:
                print_lines(f"{key}  {one.words}")
    report.tell(lambda: [vars(one) | {"words": one.words} for one in found], lambda: None)
    counts = Counter(one.verdict for one in found)
    if counts["changed"] or counts["unknown"]:
        raise ComputeError(
            f"of {counted(len(found), 'result')} {counts['changed']} changed, and "
            f"{counts['unknown']} could not be compared"
        )


@app.command()
def rm(
    keys: Annotated[list[str], typer.Argument(help="Keys, or their first letters.")],
    store: options.StoreFolder = None,
) -> None:
    """Remove stored results."""
    shelf = Store(store)
    for key in [shelf.full_key(key) for key in keys]:
        shelf.remove(key)
        print_lines(f"{key}  removed")


@app.command()
def export(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file: a .zip.")],
    keys: Keys = None,
    store: options.StoreFolder = None,
) -> None:
    """Pack stored results into one file."""
    files.require_writable(out, (".zip",))
    shelf = Store(store)
    own = (one.key for one in shelf.entries() if not one.read_only and not one.problem)
    wanted = [shelf.full_key(key) for key in keys] if keys else list(own)
    if not wanted:
        raise InputError("the store has no result of its own to export")
    with writing(out):
        count = pack(shelf, wanted, out)
    print_lines(f"{counted(count, 'result')} in {out}")


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What export wrote, or one result's file.")
    ],
    store: options.StoreFolder = None,
) -> None:
    """Put the results of a file into the store; each is verified to its last byte."""
    refused = 0
    for found in unpack(file, Store(store)):
        print_lines(f"{found.name}  {found.state}" + f": {found.problem}" * bool(found.problem))
        refused += found.state == "refused"
    if refused:
        raise ComputeError(f"{refused} of the pack's results were refused; the others are stored")
