"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from typing import Annotated

import typer

from coupling_core.analysis.perturbation import TENTH
from coupling_core.cli import options
from coupling_core.cli.one_or_many import answer
from coupling_core.cli.shown import Shown


def command(
    *,
    asked: options.Differentiating,
    token: options.Token = None,
    figure: str = "cosine",
    size: Annotated[
        float,
        typer.Option(help="Size of the noise in the figure depth, in norms of the embedding."),
    ] = TENTH,
    output: options.Output,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    shown = Shown(
        "perturbation",
        asked.many,
        figure,
        {"size": size},
        chosen={"noise": "isotropic, of 0.1 of the embedding's norm but for the radius"},
    )
    answer(asked, asked.request("perturbation", token=token), shown, output)
