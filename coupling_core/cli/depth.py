"""`coupling depth`: the depth-wise coupling of one prompt, or its mean over many."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from coupling_core.cli import files, prompts, report
from coupling_core.cli.terminal import JsonOption, ProgressBar, StoreOption, print_json
from coupling_core.errors import InputError
from coupling_core.measure import measure
from coupling_core.records import (
    DEFAULT_K,
    DEFAULT_MODEL,
    Definition,
    Dtype,
    FinalNorm,
    Quantisation,
    Request,
    Role,
    Stack,
    View,
    parse_blocks,
)
from coupling_core.store import Store


def depth(
    model: Annotated[
        str, typer.Option(help="An alias, a hub id, a folder, or a .gguf file.")
    ] = DEFAULT_MODEL,
    prompt: Annotated[str | None, typer.Option(help="The text to measure.")] = None,
    many: Annotated[
        Path | None,
        typer.Option(
            "--prompts", metavar="FILE", help="One prompt a line, or .jsonl with a field 'prompt'."
        ),
    ] = None,
    token: Annotated[int, typer.Option(help="Token measured, 1..n; -1 is the last.")] = -1,
    blocks: Annotated[
        str | None, typer.Option(help="Blocks shown: 1-30, 3,7 or 1-30:2; all unless told.")
    ] = None,
    k: Annotated[int, typer.Option(help="Singular triplets counted.")] = DEFAULT_K,
    k_view: Annotated[
        int | None, typer.Option(help="Side of the stored matrices; min(K, 32) unless told.")
    ] = None,
    definition: Annotated[Definition, typer.Option(help="Which score.")] = "paper",
    p: Annotated[float, typer.Option(help="Order of the norm in the paper's score.")] = 1.0,
    role: Annotated[Role, typer.Option(help="A is U'JV, B is V'JU.")] = "A",
    corrected: Annotated[
        bool, typer.Option("--corrected/--raw", help="Which score the figure draws.")
    ] = True,
    final_norm: Annotated[
        FinalNorm, typer.Option(help="Whether it belongs to the last block.")
    ] = "include",
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a hub model.")
    ] = None,
    untrained: Annotated[
        int | None, typer.Option(metavar="SEED", help="Measure a freshly initialised twin.")
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="What the weights are rounded to; the arithmetic is float32.")
    ] = "float32",
    quantize: Annotated[
        Quantisation | None, typer.Option(help="Measure what bitsandbytes makes of the weights.")
    ] = None,
    stack: Annotated[
        Stack | None, typer.Option(help="Of an encoder-decoder model; the decoder unless told.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:0.")] = None,
    out: Annotated[
        Path | None, typer.Option(help=f"A file that ends in {', '.join(files.FORMATS)}.")
    ] = None,
    figure: Annotated[files.FigureName, typer.Option(help="Which figure --out draws.")] = "mosaic",
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure how far the blocks of a model act in one common basis, at one token."""
    if (prompt is None) == (many is None):
        came = "neither" if prompt is None else "both"
        raise InputError(f"give either --prompt or --prompts FILE, and {came} came")
    view = View(k, definition, p, role)
    ask = partial(
        Request,
        model=model,
        token=token,
        k=k,
        k_view=k_view,
        final_norm=final_norm,
        revision=revision,
        untrained=untrained,
        dtype=dtype,
        quantize=quantize,
        stack=stack,
    )
    shelf = Store(store)
    if out is not None:
        files.require_writable(out, files.FORMATS if many is None else files.AGGREGATE_FORMATS)
    if many is not None:
        listed = prompts.read_prompts(many)
        done, failed = prompts.measure_all(ask, listed, view, blocks, shelf, device)
        if out is not None:
            prompts.write(out, done)
        prompts.report(done, failed, view, as_json=as_json)
        return
    with ProgressBar(blocks) as bar:
        result = measure(ask(str(prompt)), shelf, device=device, progress=bar)
    view = replace(view, blocks=parse_blocks(blocks, result.n_blocks))
    if out is not None:
        files.write_result(out, result, view, figure=figure, corrected=corrected, k_view=k_view)
    if as_json:
        print_json(report.summary(result, view, stored=not bar.used))
    else:
        report.show(result, view, stored=not bar.used, out=out)
