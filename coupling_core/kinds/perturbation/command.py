"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from functools import partial
from typing import Annotated

import typer

from coupling_core.analysis.exports import columns_of, row
from coupling_core.cli import options
from coupling_core.cli.many import Shown
from coupling_core.cli.many_drawn import figure_of, strip
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.perturbation.numbers import TENTH
from coupling_core.kinds.perturbation.views import FigureName, draw


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    figure: Annotated[FigureName, figure_of("perturbation")] = "cosine",
    size: Annotated[
        float,
        typer.Option(help="Size of the noise in the figure depth, in norms of the embedding."),
    ] = TENTH,
    output: options.Output,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    dots = columns_of("perturbation")["radius" if figure == "radius" else "cosine"]
    shown = Shown(
        row,
        draw=lambda result, _: draw(result, figure, size),
        draw_many=partial(strip, dots, asked.many),
        chosen={"noise": "isotropic, of 0.1 of the embedding's norm but for the radius"},
    )
    answer(asked, asked.request("perturbation", token=token), shown, output)
