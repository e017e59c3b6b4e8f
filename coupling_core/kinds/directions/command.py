"""`coupling directions`: what the leading singular vectors of the blocks read, write and do."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from coupling_core.base.records import DEFAULT_MODEL, DirectionsView, Request
from coupling_core.base.results import DirectionsResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.many_drawn import Drawn, strip
from coupling_core.cli.terminal import ProgressBar, print_json
from coupling_core.kinds.directions import report
from coupling_core.kinds.directions.prompts import PromptsTogether
from coupling_core.kinds.directions.tries import Tries
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

Side = Literal["u", "v"]

BY_CHANCE = 0.01
"""The share of directions drawn at random that say more than the floor, which is set so."""
_CHANCE = "the share of random directions that do so"
_OF_MANY: dict[Side, Drawn] = {
    "u": Drawn(
        "writes_beyond", "Directions written that say more than chance (share)", BY_CHANCE, _CHANCE
    ),
    "v": Drawn(
        "reads_beyond", "Directions read that say more than chance (share)", BY_CHANCE, _CHANCE
    ),
}
"""The number of each prompt that is drawn of a side."""


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: options.Token = None,
    block: Annotated[
        int | None, typer.Option(help="Its directions are shown; without, counts of all blocks.")
    ] = None,
    k: Annotated[
        int | None, typer.Option(help=options.COUNTED, show_default="all that are kept")
    ] = None,
    side: Annotated[Side, typer.Option(help="What a block writes (u), or reads (v).")] = "u",
    component: Annotated[
        int | None, typer.Option(help="One direction, 1..K, to steer along or to export.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--steer",
            metavar="SIZES",
            help="Add directions of --block, each times 0.1,0.5 (for example) of a state's norm.",
        ),
    ] = None,
    takes_out: Annotated[
        bool,
        typer.Option("--ablate", help="Take what --block, or each block, reads out of its input."),
    ] = False,
    shared: Annotated[
        str | None,
        typer.Option(
            metavar="BLOCKS",
            help="What blocks such as 9-16 have in common; --ablate then takes that out of each.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write --component of --block as .safetensors."),
    ] = None,
    imported: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take a direction from such a file."),
    ] = None,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    out: options.Out = None,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """See what the shared directions of a model read and write, and when they say nothing."""
    listed = options.prompt_or_prompts(prompt, image, many)
    asked = partial(
        Request,
        model=model,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
        kind="directions",
    )

    def ask(text: str) -> Request:
        return asked(text, token=options.token_of(token, text))

    view = DirectionsView(None if block is None else (block,), k)
    at = () if sizes is None else options.numbers(sizes, float, "sizes", "numbers such as 0.1,0.5")
    tries = Tries(view, side, component, at, takes_out, shared, export, imported)
    tries.require_possible(of_many=listed is not None, out=out)
    formats = files.FORMATS if listed is None else files.OF_MANY
    files.require_writable(out, formats, as_json=as_json)
    files.require_writable(export, (".safetensors",))
    if listed is not None:
        prompts = PromptsTogether(view, side)
        table_of_means(
            ask,
            listed,
            prompts.row,
            Store(store),
            view_of=lambda _: view,
            device=device,
            fast=True,
            out=out,
            as_json=as_json,
            drawing=partial(strip, _OF_MANY[side], many),
            together=prompts.told,
        )
        return
    with ProgressBar() as bar:
        found = measure(
            ask(options.one_prompt(prompt, image)), Store(store), device=device, progress=bar
        )
    result = cast(DirectionsResult, found)
    if out is not None:
        files.write_result(out, result, view, partial(_draw, result, view))
    tried = tries.of(result, device)
    if as_json:
        told = {name: summary for name, (summary, _) in tried.items()}
        print_json(report.summary(result, view, stored=not bar.used) | told)
        return
    reports.tell(result, view, stored=not bar.used, as_json=False, out=out)
    for _, show in tried.values():
        show()


def _draw(result: DirectionsResult, view: DirectionsView) -> "go.Figure":
    from coupling_core import figures

    return figures.readouts(result, view)
