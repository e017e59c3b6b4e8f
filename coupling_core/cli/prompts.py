"""`coupling prompts`: what a file or a data set gives, before anything is measured."""

from collections import Counter
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from coupling_core.base.folders import expanded
from coupling_core.base.units import cut
from coupling_core.cli import options
from coupling_core.cli.terminal import print_facts, print_lines
from coupling_core.sources.prompts import BENCHMARKS, PromptSource, Sample, load

SHOWN, WIDTH = 5, 90
"""As many prompts and categories are shown, and as much of a line."""


def prompts(
    *,
    source: Annotated[
        str, typer.Argument(help=f"A file of prompts, or a data set: {', '.join(BENCHMARKS)}.")
    ],
    sample: Annotated[int | None, typer.Option(help="How many to draw; all by default.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 0,
    config: Annotated[str | None, typer.Option(help="Which part of the data set.")] = None,
    split: Annotated[str | None, typer.Option(help="Which split of it.")] = None,
    revision: options.Revision = None,
    folder: Annotated[
        Path | None, typer.Option(help="A copy of the data set, laid out as on the hub.")
    ] = None,
    report: options.Printing,
) -> None:
    """Show the prompts of a file or a data set, or a sample of them."""
    is_dataset = source in BENCHMARKS
    found = load(
        PromptSource(
            file=None if is_dataset else expanded(source),
            dataset=source if is_dataset else None,
            config=config,
            split=split,
            revision=revision,
            folder=folder,
            sample=sample,
            seed=seed,
        )
    )
    report.tell(lambda: found, lambda: _show(found))


def _show(found: Sample) -> None:
    origin, listed = found.origin, found.prompts
    words = [len(prompt.words.split()) for prompt in listed]
    categories = Counter(prompt.category for prompt in listed if prompt.category)
    named = ", ".join(f"{name} {n}" for name, n in categories.most_common(SHOWN))
    more = f" and {len(categories) - SHOWN} more" * (len(categories) > SHOWN)
    rated = [prompt.difficulty for prompt in listed if prompt.difficulty is not None]
    drawn = "all" if origin.sample is None else f"a sample, seed {origin.seed}"
    print_facts(
        source=" ".join(filter(None, (origin.repo or origin.source, origin.config, origin.split))),
        revision=origin.revision,
        prompts=f"{origin.n} ({drawn})",
        words=f"{min(words)} to {max(words)}, median {median(words):g}",
        difficulty=f"{min(rated):g} to {max(rated):g}, of {len(rated)}" if rated else None,
        categories=named + more or "none",
    )
    lines = ((one.row, " ".join(one.words.split())) for one in listed[:SHOWN])
    print_lines("", *(f"{row:>6}  {cut(line, WIDTH)}" for row, line in lines))
