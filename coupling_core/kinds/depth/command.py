"""`coupling depth`: the depth-wise coupling of one prompt, or its mean over many."""

from dataclasses import replace
from functools import partial
from typing import Annotated, cast

from coupling_core.base.records import DEFAULT_MODEL, Request, parse_blocks
from coupling_core.base.results import DepthResult
from coupling_core.cli import files, options, reports
from coupling_core.cli.many_drawn import figure_of
from coupling_core.cli.terminal import ProgressBar
from coupling_core.kinds.depth import prompts
from coupling_core.kinds.depth.views import FigureName, draw
from coupling_core.measuring.measure import measure
from coupling_core.store.disk import Store


def command(
    prompt: options.Prompt = None,
    image: options.Image = None,
    many: options.Prompts = None,
    model: options.Model = DEFAULT_MODEL,
    token: options.Token = None,
    blocks: options.Blocks = None,
    k: options.K = None,
    k_view: Annotated[int | None, options.corner(32)] = None,
    definition: options.ScoreDefinition = "paper",
    p: options.Order = 1.0,
    role: options.MatrixRole = "A",
    corrected: options.Corrected = True,
    final_norm: options.Norm = "include",
    revision: options.Revision = None,
    untrained: options.Untrained = None,
    dtype: options.Rounded = "float32",
    quantize: options.Quantised = None,
    stack: options.OneStack = None,
    device: options.Device = None,
    plain: options.Plain = False,
    out: options.Out = None,
    figure: Annotated[FigureName, figure_of("depth")] = "mosaic",
    as_json: options.Json = False,
    store: options.StoreFolder = None,
) -> None:
    """Measure how far the blocks of a model act in one common basis, at one token."""
    listed = options.prompt_or_prompts(prompt, image, many)
    view = options.view_of(k, definition, p, role)
    asked = partial(
        Request,
        model=model,
        k=k,
        k_view=k_view,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
    )

    def ask(text: str) -> Request:
        return asked(text, token=options.token_of(token, text))

    shelf = Store(store)
    files.require_writable(out, files.FORMATS if many is None else files.OF_MANY, as_json=as_json)
    if listed is not None:
        look = partial(options.at_its_k, view, k)
        done, failed = prompts.measure_all(ask, listed, look, blocks, shelf, device, fast=not plain)
        if out is not None:
            prompts.write(out, done, many, corrected=corrected)
        prompts.report(done, failed, as_json=as_json, out=out)
        return
    with ProgressBar(blocks) as bar:
        found = measure(
            ask(options.one_prompt(prompt, image)),
            shelf,
            device=device,
            fast=not plain,
            progress=bar,
        )
    result = cast(DepthResult, found)
    view = options.at_its_k(view, k, result)
    view = replace(view, blocks=parse_blocks(blocks, result.n_blocks))
    if out is not None:
        drawn = partial(draw, result, view, figure, corrected=corrected)
        files.write_result(out, result, view, drawn, k_view=k_view)
    reports.tell(result, view, stored=not bar.used, as_json=as_json, out=out)
