"""`coupling prune`: which blocks to leave out, what that costs, and the model without them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from coupling_core.analysis.pruning import words
from coupling_core.analysis.pruning.rankings import NAMES, RANKINGS, Ranking
from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_MODEL, Request
from coupling_core.base.textfiles import legible
from coupling_core.base.units import about, counted, ranges
from coupling_core.cli import files, options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import CountingBar, print_json, print_lines, print_table, say
from coupling_core.sources.prompts import read_file

if TYPE_CHECKING:  # torch is slow to import
    from coupling_core.experiments.pruning.plan import Pruning

FORMATS = (".json", ".csv", ".html", ".pdf", ".svg", ".png")
STOPPED = "stopped: nothing is saved but the coupling of the blocks that was measured"
LONG = 20.0
"""Seconds that need no word."""


def prune(
    model: options.Model = DEFAULT_MODEL,
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One text a line, or .jsonl or .csv with a field 'prompt'; those that come with "
            "the program by default. Every third ranks, the others judge.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="|".join(RANKINGS),
            help="How blocks are chosen; repeat it for several; all by default.",
        ),
    ] = None,
    remove: Annotated[str, typer.Option(help="How many blocks go: 4, 1-8 or 2,4,8.")] = "1-8",
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the model without those blocks; needs one --by and one --remove.",
        ),
    ] = None,
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    device: options.Device = None,
    out: Annotated[Path | None, options.written_as(FORMATS)] = None,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Rank a model's blocks, and see what leaving out the first of each ranking costs."""
    removed = _numbers(remove)
    rankings = _rankings(by or RANKINGS)
    _require_saveable(save, by or (), removed)
    files.require_writable(out, FORMATS, as_json=as_json)
    asked = Request("a text", model=model, revision=revision, untrained=untrained, dtype=dtype)
    given = None if texts is None else [prompt.text for prompt in read_file(texts)]
    found = _pruned(asked, given, texts, rankings, removed, device, store)
    if save is not None:
        with stopping("stopped: nothing is saved"):
            found.save(save, rankings[0], removed[0])
    if out is not None:
        files.write(out, _content(files.ending(out), found))
    if as_json:
        print_json(_summary(found, save))
    else:
        _show(found, out, save)


def _pruned(
    asked: Request,
    texts: list[str] | None,
    file: Path | None,
    by: tuple[Ranking, ...],
    removed: tuple[int, ...],
    device: str | None,
    store: Path | None,
) -> "Pruning":
    """Rank and judge, with a bar; Ctrl-C is one line."""
    with stopping(STOPPED):
        from dataclasses import replace

        from coupling_core.experiments.pruning.door import expected, prune
        from coupling_core.store.disk import Store

        seconds = expected(asked, texts, by, removed)
        if seconds is not None and seconds > LONG:
            say(f"this takes {about(seconds)} on a processor like this, and more where it is busy")
        with CountingBar(1, "reading the model") as bar:
            found = prune(
                asked.model,
                texts,
                by=by,
                remove=removed,
                revision=asked.revision,
                untrained=asked.untrained,
                dtype=asked.dtype,
                store=Store(store),
                device=device,
                progress=lambda done, total, what: bar.of(
                    total, done, what, f"text {done} of {total}: {what}"
                ),
            )
        return found if file is None else replace(found, source=f"texts of {legible(file.name)}")


def _rankings(names: Sequence[str]) -> tuple[Ranking, ...]:
    """The rankings that are named, each once."""
    if wrong := [name for name in names if name not in RANKINGS]:
        raise InputError(f"--by must be one of {', '.join(RANKINGS)}, and {wrong[0]!r} came")
    return cast(tuple[Ranking, ...], tuple(dict.fromkeys(names)))


def _numbers(text: str) -> tuple[int, ...]:
    """How many blocks go, as it is typed."""
    found: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    except ValueError:
        found = set()
    if not found or min(found) < 1 or max(found) > 1000:
        raise InputError(f"--remove {text!r} cannot be read: expected numbers such as 4, 1-8, 2,4")
    return tuple(sorted(found))


def _require_saveable(folder: Path | None, by: Sequence[str], removed: tuple[int, ...]) -> None:
    """Refuse before anything is computed what could not be saved."""
    if folder is None:
        return
    if len(by) != 1 or len(removed) != 1 or by[0] == "random":
        raise InputError(
            "--save writes one model: choose its blocks with one --by (not random) and one "
            "number of blocks, as in --by kl --remove 4"
        )
    from coupling_core.base.writing import require_new

    require_new(folder)


def _content(ending: str, found: "Pruning") -> bytes:
    if ending == ".json":
        return found.to_json().encode()
    if ending == ".csv":
        from coupling_core.analysis.exports import to_csv

        return to_csv(found.to_pandas(), index=False)
    from coupling_core import figures

    return figures.render(figures.pruning(found), ending)


def _summary(found: "Pruning", saved: Path | None) -> dict[str, Any]:
    """Every number, ready for JSON."""
    return {
        "model": found.model,
        "request": dict(found.asked),
        "blocks": found.n_blocks,
        "parameters": found.parameters,
        "ranked_on": len(found.ranked_on),
        "judged_on": len(found.judged_on),
        "predicted_tokens": sum(found.predicted),
        "source": found.source,
        "loss": vars(found.whole),
        "by_block": dict(found.by_block),
        "curve": found.to_pandas().to_dict("records"),
        "verdict": found.verdict,
        "provenance": dict(found.provenance),
        "saved": None if saved is None else str(saved),
    }


def _show(found: "Pruning", out: Path | None, saved: Path | None) -> None:
    tokens = sum(found.predicted)
    print_lines(
        f"model       {found.model}, {counted(found.n_blocks, 'block')}",
        f"texts       {found.source}: {len(found.ranked_on)} rank, {len(found.judged_on)} judge "
        f"({tokens} predicted tokens)",
        f"loss        {words.told(found.whole)} nats a token with all blocks; 95 % intervals over "
        "texts, of random sets 5 to 95 % of the draws",
        "",
    )
    titles = ("removed", "by", "loss", "neighbours instead", "beats random", "MB", "blocks")
    print_table(titles, [_row(found, point) for point in found.curve])
    print_lines(
        "",
        *(f"found       {line}" for line in (found.verdict, *words.findings(found))),
        *([f"written     {out}"] if out else []),
        *([f"saved       {saved}"] if saved else []),
    )


def _row(found: "Pruning", point: Any) -> tuple[str, ...]:
    return (
        str(point.removed),
        NAMES[point.by],
        words.told(point.left_out),
        words.told(point.tied),
        "" if point.beats is None else str(point.beats),
        f"{found.megabytes(point.blocks):.1f}" if point.blocks else "",
        ranges(point.blocks),
    )
