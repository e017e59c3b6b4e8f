"""`coupling prune`: which blocks to leave out, what that costs, and the model without them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from coupling_core.analysis.pruning import words
from coupling_core.analysis.pruning.rankings import NAMES, RANKINGS, Ranking
from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.textfiles import legible
from coupling_core.base.units import about, counted, ranges
from coupling_core.cli import files, options
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import ProgressBar, print_lines, print_table, say
from coupling_core.sources.prompts import read_file

if TYPE_CHECKING:  # torch is slow to import
    from coupling_core.experiments.pruning.plan import Pruning

FORMATS = (".json", ".csv", ".html", ".pdf", ".svg", ".png")
STOPPED = "stopped: nothing is saved but the coupling of the blocks that was measured"
LONG = 20.0
"""Seconds that need no word."""


def prune(
    *,
    weights: options.Model,
    device: options.Device = None,
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
    out: Annotated[Path | None, options.written_as(FORMATS)] = None,
    report: options.Report,
) -> None:
    """Rank a model's blocks, and see what leaving out the first of each ranking costs."""
    removed, rankings = _numbers(remove), _rankings(by or RANKINGS)
    if save is not None:
        _require_saveable(save, rankings, removed)
    files.require_writable(out, FORMATS, as_json=report.as_json)
    asked = Request("a text", **vars(weights))
    given = None if texts is None else [prompt.text for prompt in read_file(texts)]
    with stopping(STOPPED):
        found = _pruned(asked, given, rankings, removed, device, report.store)
    if texts is not None:
        found = replace(found, source=f"texts of {legible(texts.name)}")
    if save is not None:
        with stopping("stopped: nothing is saved"):
            found.save(save, rankings[0], removed[0])
    if out is not None:
        files.write(out, _content(files.ending(out), found))
    report.tell(lambda: _summary(found, save), lambda: _show(found, out, save))


def _pruned(
    asked: Request,
    texts: list[str] | None,
    by: tuple[Ranking, ...],
    removed: tuple[int, ...],
    device: str | None,
    store: Path | None,
) -> "Pruning":
    """Rank and judge, with a bar."""
    from coupling_core.experiments.pruning.door import expected, prune
    from coupling_core.store.disk import Store

    seconds = expected(asked, texts, by, removed)
    if seconds is not None and seconds > LONG:
        say(f"this takes {about(seconds)} on a processor like this, and more where it is busy")
    with ProgressBar(stays=True) as bar:
        return prune(
            asked.model,
            texts,
            by=by,
            remove=removed,
            revision=asked.revision,
            untrained=asked.untrained,
            dtype=asked.dtype,
            store=Store(store),
            device=device,
            progress=lambda done, total, what: bar.show(
                done, total, what, f"text {done} of {total}: {what}"
            ),
        )


def _rankings(names: Sequence[str]) -> tuple[Ranking, ...]:
    """The rankings that are named, each once."""
    if wrong := [name for name in names if name not in RANKINGS]:
        raise InputError(f"--by: expected one of {', '.join(RANKINGS)}, got {wrong[0]!r}")
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


def _require_saveable(folder: Path, by: Sequence[Ranking], removed: Sequence[int]) -> None:
    """Refuse before anything is computed what could not be saved."""
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


def _row(found: "Pruning", point: Any) -> tuple[Any, ...]:
    return (
        *(point.removed, NAMES[point.by], words.told(point.left_out), words.told(point.tied)),
        point.beats,
        f"{found.megabytes(point.blocks):.1f}" if point.blocks else "",
        ranges(point.blocks),
    )
