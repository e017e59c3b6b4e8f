"""`coupling whatif`: what edits of a model's depth do to what it says."""

from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from coupling_core.analysis.exports import row
from coupling_core.base.errors import InputError
from coupling_core.base.records import DEFAULT_MODEL, EffectView, Request
from coupling_core.base.results import WhatIfResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many import table_of_means
from coupling_core.cli.many_drawn import Drawn, figure_of, strip
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.whatif import against as _against
from coupling_core.kinds.whatif import one_edit
from coupling_core.kinds.whatif.views import FigureName, draw
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store

_OF_MANY: dict[FigureName, Drawn] = {
    "interchange": Drawn(
        "interchange_kl", "Median effect of interchanging two blocks (nats)", 0.0, "no effect"
    ),
    "replace": Drawn(
        "replace_kl", "Median effect of a block in place of another (nats)", 0.0, "no effect"
    ),
    "blocks": Drawn("skip_kl", "Median effect of skipping a block (nats)", 0.0, "no effect"),
}
"""The number of each prompt that stands for a figure."""


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    tokens: Annotated[
        str | None,
        typer.Option(help="Tokens that effects are averaged over: 3,7 or -1; all by default."),
    ] = None,
    edit: Annotated[
        str | None,
        typer.Option(
            help="Only this edit, such as interchange(12,13), reverse(8-12) or parallel(8-11): its "
            "effect, and what the model says before and after."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--coupling",
            metavar="depth|KEY",
            help="Correlate the effects with the coupling of the same blocks: measured ('depth'), "
            "or a stored result.",
        ),
    ] = None,
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    out: options.Out = None,
    figure: Annotated[FigureName, figure_of("whatif")] = "interchange",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Skip, repeat, damp, replace and interchange blocks, and see what the model then says."""
    expected = "numbers such as 3,7 or -1"
    view = EffectView(None if tokens is None else options.numbers(tokens, int, "tokens", expected))
    _require_one_question(edit, against, many, out)
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
    formats = files.FORMATS if listed is None else files.OF_MANY
    files.require_writable(out, formats, as_json=as_json)
    if listed is not None and against is not None:
        study = _against.of_many(ask, listed, view, Store(store), device)
        _against.tell(study, as_json=as_json)
        return
    if listed is not None:
        table_of_means(
            ask,
            listed,
            lambda result: row(cast(WhatIfResult, result), view),
            Store(store),
            view_of=lambda _: view,
            device=device,
            fast=True,
            out=out,
            as_json=as_json,
            drawing=partial(strip, _OF_MANY[figure], many),
        )
        return
    request = ask(options.one_prompt(prompt, image))
    if edit is not None:
        one_edit.tell(request, edit, view, device=device, as_json=as_json)
        return
    with ProgressBar() as bar:
        result = cast(WhatIfResult, measure(request, Store(store), device=device, progress=bar))
    if against is not None:
        study = _against.of_one(result, against, view, Store(store), device)
        _against.tell(study, as_json=as_json)
        return
    if out is not None:
        files.write_result(out, result, view, partial(draw, result, view, figure))
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)


def _require_one_question(
    edit: str | None, against: str | None, many: Path | None, out: Path | None
) -> None:
    """Refuse options that do not go together."""
    if edit is not None and (against is not None or many is not None or out is not None):
        raise InputError("--edit runs one edit of one prompt and prints it: leave out the others")
    if against is not None and out is not None:
        raise InputError("--coupling prints correlations and writes no file: leave out --out")
    if many is not None and against not in (None, _against.DEPTH):
        raise InputError("one stored result has one prompt: with --prompts give --coupling depth")
