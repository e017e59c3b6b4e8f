"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from typing import Annotated

import typer

from coupling_core.analysis.perturbation import TENTH
from coupling_core.cli import options
from coupling_core.cli.many_drawn import Together, dots, figure_option, one_drawn
from coupling_core.cli.one_or_many import Shown, answer


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    figure: Annotated[str, figure_option("perturbation")] = "cosine",
    size: Annotated[
        float,
        typer.Option(help="Size of the noise in the figure depth, in norms of the embedding."),
    ] = TENTH,
    output: options.Output,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    shown = Shown(
        one_drawn(figure, size=size),
        Together(dots("perturbation", figure), asked.many),
        chosen={"noise": "isotropic, of 0.1 of the embedding's norm but for the radius"},
    )
    answer(asked, asked.request("perturbation", token=token), shown, output)
