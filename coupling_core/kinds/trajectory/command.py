"""`coupling trajectory`: the path of every token of a prompt through the blocks."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from coupling_core.base.records import DEFAULT_MODEL, Fit, Part, PathView, Request, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.cli import options
from coupling_core.cli.many_drawn import figure_of
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.trajectory.prompts import PathsTogether
from coupling_core.kinds.trajectory.views import FigureName, draw

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go


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
    figure: Annotated[FigureName, figure_of("trajectory")] = "paths",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Follow every token through the blocks: how straight, how evenly, how linearly it moves."""
    view = PathView(fit, part, first)
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

    def drawing(result: TrajectoryResult) -> "Callable[[], go.Figure]":
        number = resolve_token(token, len(result.tokens))
        return partial(draw, result, view, figure, number)

    of_many = PathsTogether(figure, many)
    answer(
        ask,
        prompt,
        image,
        many,
        view=view,
        row=of_many.row,
        drawing=drawing,
        drawing_many=of_many.draw,
        together=of_many.told,
        further=of_many.arrays,
        store=store,
        device=device,
        fast=not plain,
        out=out,
        as_json=as_json,
    )
