"""`coupling prune`: which blocks to leave out, what that costs, and the model without them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from coupling_core.analysis.exports import to_csv
from coupling_core.analysis.pruning import words
from coupling_core.analysis.pruning.rankings import RANKINGS, Ranking
from coupling_core.base.errors import InputError
from coupling_core.base.records import Request
from coupling_core.base.units import counted, duration
from coupling_core.base.writing import require_new
from coupling_core.cli import files, options
from coupling_core.cli.one_or_many import SHORT
from coupling_core.cli.signals import stopping
from coupling_core.cli.terminal import print_facts, print_frame, print_lines, progress_bar, say

if TYPE_CHECKING:  # torch is slow to import
    from coupling_core.experiments.pruning.plan import Pruning


class Output(options.Output):
    """A plan's own files too."""

    formats = (".json", ".csv", *files.FIGURES)


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
    output: Output,
) -> None:
    """Rank a model's blocks, and see what leaving out the first of each ranking costs."""
    removed = _numbers(remove)
    rankings = cast(tuple[Ranking, ...], tuple(dict.fromkeys(by or RANKINGS)))  # or is refused
    if save is not None:
        _require_saveable(save, rankings, removed)
    output.require_writable()
    from coupling_core.experiments.pruning import door

    stopped = "stopped: nothing is saved but the coupling of the blocks that was measured"
    with stopping(stopped), progress_bar(stays=True) as bar:
        seconds = door.expected(Request("a text", **vars(weights)), texts, rankings, removed)
        if seconds is not None and seconds > SHORT:
            say(
                f"this takes about {duration(seconds)} on this processor, and more where it is busy"
            )
        found = door.prune(
            texts=texts,
            by=rankings,
            remove=removed,
            store=output.store,
            device=device,
            progress=bar.show,
            **vars(weights),
        )
    if save is not None:
        with stopping("stopped: nothing is saved"):
            found.save(save, rankings[0], removed[0])
    if output.out is not None:
        files.write(output.out, _content(files.ending(output.out), found))
    output.tell(lambda: _summary(found, save), lambda: _show(found, save))


def _numbers(text: str) -> tuple[int, ...]:
    """How many blocks go, as it is typed."""
    try:
        ends = [part.partition("-") for part in text.split(",")]
        found = {n for first, _, last in ends for n in range(int(first), int(last or first) + 1)}
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
    require_new(folder)


def _content(ending: str, found: "Pruning") -> bytes:
    if ending == ".json":
        return found.to_json().encode()
    return to_csv(found.to_pandas()) if ending == ".csv" else found.plot().render(ending)


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
        "loss": found.whole,
        "by_block": dict(found.by_block),
        "curve": found.to_pandas().to_dict("records"),
        "verdict": found.verdict,
        "provenance": dict(found.provenance),
        "saved": saved,
    }


def _show(found: "Pruning", saved: Path | None) -> None:
    print_facts(
        model=f"{found.model}, {counted(found.n_blocks, 'block')}",
        texts=f"{found.source}: {len(found.ranked_on)} rank, {len(found.judged_on)} judge "
        f"({sum(found.predicted)} predicted tokens)",
        loss=f"{words.told(found.whole)} nats a token with all blocks; 95 % intervals over texts, "
        "of random sets 5 to 95 % of the draws",
    )
    print_lines("")
    columns = ["removed", "by", "loss", "low", "high", "tied_loss", "against_random"]
    print_frame(found.to_pandas()[[*columns, "megabytes", "blocks"]])
    print_lines("")
    print_facts(found=[found.verdict, *words.findings(found)], saved=saved)
