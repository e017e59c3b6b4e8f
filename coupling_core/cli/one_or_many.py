"""What all commands that measure do: one prompt is measured and reported, many are averaged."""

from typing import Any

from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.base.units import about
from coupling_core.cli import files, reports
from coupling_core.cli.many import Ask, Shown, require_blocks, table_of_means
from coupling_core.cli.options import Measuring, Output
from coupling_core.cli.terminal import progress_bar, say
from coupling_core.measuring.measure import answer as answer_to
from coupling_core.measuring.measure import find_stored
from coupling_core.sources.resolved import Resolved, resolve
from coupling_core.store.disk import Store

SHORT = 20.0
"""Seconds that need no word."""


def measured(
    request: Request, asked: Measuring, output: Output, blocks: str | None = None
) -> tuple[Any, bool]:
    """Measure one prompt, with a bar: the result, and whether it was stored before."""
    resolved, store = resolve(request), Store(output.store)
    if request.is_mean and find_stored(resolved, store) is None:
        _forewarn(resolved)
    with progress_bar() as bar:

        def report(progress: Progress) -> None:
            require_blocks(blocks, progress)
            bar(progress)

        result = answer_to(resolved, store, device=asked.device, fast=asked.fast, progress=report)
    return result, not bar.used


def _forewarn(asked: Resolved) -> None:
    """Say about how long the mean over all pairs of blocks takes a processor."""
    from coupling_core.measuring.cost import machine_rates, predict_seconds  # torch
    from coupling_core.measuring.probe import probe

    found = probe(asked)
    if found.refusal or not found.blocks:
        return
    seconds = predict_seconds(asked.request, found, asked.n_tokens, machine_rates())
    if seconds is not None and seconds > SHORT:
        say(
            f"all pairs of {found.blocks} blocks and of {asked.n_tokens} tokens take "
            f"{about(seconds)} on this processor: it grows with the square of both, and --block "
            "takes one pair of blocks"
        )


def answer(asked: Measuring, ask: Ask, shown: Shown, output: Output) -> None:
    """Measure one prompt, or each of a file, write what --out names, and report."""
    output.require_writable(asked.many)
    if asked.many is not None:
        table_of_means(asked, ask, shown, output)
        return
    request = ask(asked.one())
    result, stored = measured(request, asked, output, shown.blocks)
    view, report, out = shown.view(result), shown.report, output.out
    if out is not None and report is not None:
        report.write(out, result, view)
    elif out is not None:
        files.write_result(out, result, view, shown.draw, k_view=request.k_view)
    more = shown.more(result)
    reports.tell(result, view, output, stored=stored, more=more, report=report)
