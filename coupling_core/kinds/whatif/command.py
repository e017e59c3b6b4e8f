"""`coupling whatif`: what edits of a model's depth do to what it says."""

from functools import partial
from typing import Annotated, cast

import typer

from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_MODEL, EffectView, Request
from coupling_core.base.results import WhatIfResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.whatif.export import row
from coupling_core.kinds.whatif.views import FigureName, draw
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    tokens: Annotated[
        str | None,
        typer.Option(help="Tokens that effects are averaged over: 3,7 or -1; all by default."),
    ] = None,
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    out: options.Out = None,
    figure: Annotated[FigureName, typer.Option(help="Which figure --out draws.")] = "interchange",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Skip, repeat, damp, replace and interchange blocks, and see what the model then says."""
    view = EffectView(_numbers(tokens))
    listed = options.prompt_or_prompts(prompt, image, many)
    ask = partial(
        Request,
        model=model,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
        kind="what-if",
    )
    formats = files.FORMATS if listed is None else files.AGGREGATE_FORMATS
    files.require_writable(out, formats, as_json=as_json)
    if listed is not None:
        table_of_means(
            ask,
            listed,
            lambda result: row(cast(WhatIfResult, result), view),
            Store(store),
            device=device,
            fast=True,
            out=out,
            as_json=as_json,
        )
        return
    request = ask(options.one_prompt(prompt, image))
    with ProgressBar() as bar:
        result = cast(WhatIfResult, measure(request, Store(store), device=device, progress=bar))
    if out is not None:
        files.write_result(out, result, view, partial(draw, result, view, figure))
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """The numbers of tokens as they are typed, separated by commas."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"tokens {text!r} cannot be read: expected numbers such as 3,7 or -1"
        ) from None
