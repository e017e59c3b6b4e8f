"""`coupling perturbation`: noise on a token's embedding, and where linear blocks stop saying it."""

from functools import partial
from typing import Annotated, cast

import typer

from coupling_core.base.records import DEFAULT_MODEL, AnyView, Request
from coupling_core.base.results import PerturbationResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.perturbation.export import row
from coupling_core.kinds.perturbation.views import TENTH, FigureName, draw
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store


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
    figure: Annotated[FigureName, typer.Option(help="Which figure --out draws.")] = "cosine",
    size: Annotated[
        float, typer.Option(help="Of the noise in the figure depth, in norms of the embedding.")
    ] = TENTH,
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Add noise to a token's embedding, and see how far the linearised blocks predict it."""
    view = AnyView()
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
        kind="perturbation",
    )

    def ask(text: str) -> Request:
        return asked(text, token=options.token_of(token, text))

    formats = files.FORMATS if listed is None else files.AGGREGATE_FORMATS
    files.require_writable(out, formats, as_json=as_json)
    if listed is not None:
        table_of_means(
            ask,
            listed,
            lambda result: row(cast(PerturbationResult, result), view),
            Store(store),
            device=device,
            fast=not plain,
            out=out,
            as_json=as_json,
        )
        return
    request = ask(options.one_prompt(prompt, image))
    with ProgressBar() as bar:
        found = measure(request, Store(store), device=device, fast=not plain, progress=bar)
    result = cast(PerturbationResult, found)
    if out is not None:
        files.write_result(out, result, view, partial(draw, result, figure, size))
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)
