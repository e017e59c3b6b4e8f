"""What all commands that measure do: one prompt is measured and reported, many are averaged."""

from functools import partial
from typing import Any

from coupling_core.base.records import Request
from coupling_core.cli import files, reports
from coupling_core.cli.forewarning import forewarn
from coupling_core.cli.many import Ask, Shown, table_of_means
from coupling_core.cli.options import Measuring, Output
from coupling_core.cli.terminal import ProgressBar
from coupling_core.measuring.measure import answer as answer_to
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store


def measured(
    request: Request, asked: Measuring, output: Output, blocks: str | None = None
) -> tuple[Any, bool]:
    """Measure one prompt, with a bar: the result, and whether it was stored before."""
    resolved, store = resolve(request), Store(output.store)
    if request.is_mean:
        forewarn(resolved, store)
    with ProgressBar(blocks) as bar:
        result = answer_to(resolved, store, device=asked.device, fast=asked.fast, progress=bar)
    return result, not bar.used


def answer(asked: Measuring, ask: Ask, shown: Shown, output: Output) -> None:
    """Measure one prompt, or each of a file, write what --out names, and report."""
    output.require_writable(of_many=asked.many is not None)
    if asked.many is not None:
        table_of_means(asked, ask, shown, output)
        return
    request = ask(asked.one())
    result, stored = measured(request, asked, output, shown.blocks)
    view = shown.view(result)
    if output.out is not None:
        draw = partial(shown.draw, result, view)
        files.write_result(output.out, result, view, draw, k_view=request.k_view)
    more = shown.more(result)
    reports.tell(result, view, stored=stored, as_json=output.as_json, out=output.out, more=more)
