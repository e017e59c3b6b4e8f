"""`coupling trajectory`: the path of every token of a prompt through the blocks."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from coupling_core.base.records import DEFAULT_MODEL, Fit, Part, PathView, Request, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.trajectory.export import row
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

FigureName = Literal[
    "paths",
    "paths-3d",
    "line-shape",
    "line-shape-by-depth",
    "norms",
    "growth",
    "expodistance",
    "steps",
    "equidistance",
    "entropy",
    "linearised",
]


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: Annotated[
        int, typer.Option(help="Token that the figure shows in ink, 1..n; -1 is the last.")
    ] = -1,
    fit: Annotated[
        Fit, typer.Option(help="States that the principal components are fitted on.")
    ] = PathView.fit,
    part: Annotated[Part, typer.Option(help="Blocks whose states are projected.")] = PathView.part,
    first: Annotated[
        bool,
        typer.Option("--with-first/--without-first", help="Whether the first token is projected."),
    ] = PathView.first,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: options.Out = None,
    figure: Annotated[FigureName, typer.Option(help="Which figure --out draws.")] = "paths",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Follow every token through the blocks: how straight, how evenly, how linearly it moves."""
    view = PathView(fit, part, first)
    listed = options.prompt_or_prompts(prompt, image, many)
    ask = partial(
        Request,
        model=model,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
        kind="trajectory",
    )
    formats = files.FORMATS if listed is None else files.AGGREGATE_FORMATS
    files.require_writable(out, formats, as_json=as_json)
    if listed is not None:
        table_of_means(
            ask,
            listed,
            lambda result: row(cast(TrajectoryResult, result), view),
            Store(store),
            device=device,
            fast=not plain,
            out=out,
            as_json=as_json,
        )
        return
    request = ask(options.one_prompt(prompt, image))
    with ProgressBar() as bar:
        result = cast(
            TrajectoryResult,
            measure(request, Store(store), device=device, fast=not plain, progress=bar),
        )
    number = resolve_token(token, len(result.tokens))
    if out is not None:
        files.write_result(out, result, view, partial(_draw, result, view, figure, number))
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)


def _draw(result: TrajectoryResult, view: PathView, figure: FigureName, token: int) -> "go.Figure":
    from coupling_core import figures

    match figure:
        case "paths":
            return figures.paths(result, view, token=token)
        case "paths-3d":
            return figures.paths(result, view, token=token, dimensions=3)
        case "line-shape" | "expodistance" | "equidistance":
            return figures.per_token(result, figure, token=token)
        case "linearised":
            return figures.linearised(result, token=token)
        case _:
            return figures.by_depth(result, figure, token=token)
