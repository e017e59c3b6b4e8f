"""`coupling trajectory`: the path of every token of a prompt through the blocks."""

from typing import Annotated

import typer

from coupling_core.base.records import Fit, Part, PathView, resolve_token
from coupling_core.base.results import TrajectoryResult
from coupling_core.cli import options
from coupling_core.cli.many_drawn import dots, figure_option, one_drawn
from coupling_core.cli.one_or_many import Shown, answer
from coupling_core.kinds.trajectory.prompts import PathsTogether


def command(
    *,
    asked: options.Differentiating,
    token: Annotated[
        int, typer.Option(help="Token that the figure highlights, 1..n; -1 is the last.")
    ] = -1,
    fit: Annotated[
        Fit, typer.Option(help="States that the principal components are fitted on.")
    ] = PathView.fit,
    part: Annotated[Part, typer.Option(help="Blocks whose states are projected.")] = PathView.part,
    first: Annotated[
        bool,
        typer.Option("--with-first/--without-first", help="Whether the first token is projected."),
    ] = PathView.first,
    figure: Annotated[str, figure_option("trajectory")] = "paths",
    output: options.Output,
) -> None:
    """Follow every token through the blocks: how straight, how evenly, how linearly it moves."""

    def view(result: TrajectoryResult) -> PathView:
        resolve_token(token, len(result.tokens))
        return PathView(fit, part, first)

    together = PathsTogether(dots("trajectory", figure), asked.many, figure)
    shown = Shown(one_drawn(figure, token=token), together, view)
    answer(asked, asked.request("trajectory"), shown, output)
