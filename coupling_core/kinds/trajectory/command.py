"""`coupling trajectory`: the path of every token of a prompt through the blocks."""

from functools import partial
from typing import Annotated, cast

import typer

from coupling_core.base.records import DEFAULT_MODEL, Fit, Part, PathView, Request, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.trajectory.export import row
from coupling_core.kinds.trajectory.views import FigureName, draw
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store


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
        files.write_result(out, result, view, partial(draw, result, view, figure, number))
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)
