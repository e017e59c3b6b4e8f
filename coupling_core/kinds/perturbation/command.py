"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from functools import partial
from typing import Annotated

import typer

from coupling_core.analysis.exports import row
from coupling_core.base.records import DEFAULT_MODEL, AnyView, Request
from coupling_core.cli import options
from coupling_core.cli.many_drawn import Drawn, figure_of, strip
from coupling_core.cli.one_or_many import answer
from coupling_core.kinds.perturbation.numbers import TENTH
from coupling_core.kinds.perturbation.views import FigureName, draw

_OF_MANY = {
    "radius": Drawn(
        "radius",
        "Size of noise at which first order is off by 10\u00a0% at the end (embedding = 1)",
    ),
    "cosine": Drawn(
        "cosine",
        "Cosine of the last state with that without noise of 0.1 (embedding = 1)",
        1.0,
        "no change",
        most=1.0,
    ),
}
"""The number of each prompt that stands for a figure."""


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: options.Token = None,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: options.Out = None,
    figure: Annotated[FigureName, figure_of("perturbation")] = "cosine",
    size: Annotated[
        float, typer.Option(help="Of the noise in the figure depth, in norms of the embedding.")
    ] = TENTH,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    asked = partial(
        Request,
        model=model,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
        kind="perturbation",
    )
    answer(
        lambda text: asked(text, token=options.token_of(token, text)),
        prompt,
        image,
        many,
        view=AnyView(),
        row=row,
        drawing=lambda result: partial(draw, result, figure, size),
        chosen={"noise": "isotropic, of 0.1 of the embedding's norm but for the radius"},
        drawing_many=partial(strip, _OF_MANY.get(figure, _OF_MANY["cosine"]), many),
        store=store,
        device=device,
        fast=not plain,
        out=out,
        as_json=as_json,
    )
