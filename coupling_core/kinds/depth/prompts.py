"""Many prompts at one token each: means of their scores with intervals, and mean matrices."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coupling_core.analysis.exports import written
from coupling_core.analysis.over_prompts import (
    OfPrompt,
    mean_scores,
    of_prompt,
    token_words,
)
from coupling_core.analysis.scores import (
    Interval,
    definition_name,
    mean_interval,
    means,
)
from coupling_core.base.records import Request, View, parse_blocks
from coupling_core.base.results import DepthResult, Result
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.units import ranges
from coupling_core.cli import files, many, many_drawn, rows
from coupling_core.cli.rows import Failed, Row
from coupling_core.cli.terminal import print_json, print_lines, warn
from coupling_core.sources.prompts import Prompt
from coupling_core.store.disk import Store

if TYPE_CHECKING:  # plotly is slow to import, and only files of figures need it
    import plotly.graph_objects as go

_TITLES = {"coupling": "c", "chance": "chance floor", "corrected": "chance-corrected"}

AXES = {
    **dict.fromkeys(MEASURES, ("block", "basis")),
    **dict.fromkeys((f"{name}_of_each" for name in MEASURES), ("prompt", "block", "basis")),
    **dict.fromkeys((f"prompt_{name}" for name in MEASURES), ("prompt",)),
    **dict.fromkeys(("line", "prompt", "category"), ("prompt",)),
    "blocks": ("block",),
}
"""Names of the axes of the arrays."""


@dataclass(frozen=True)
class Measured:
    """One prompt's part in an aggregate.

    Args:
        row: the prompt, its means over l != l', and its result's key.
        of: what is kept of its result.
    """

    row: Row
    of: OfPrompt


def measure_all(
    ask: Callable[[str], Request],
    prompts: Sequence[Prompt],
    look: Callable[[Result], View],
    blocks: str | None,
    store: Store,
    device: str | None = None,
    *,
    fast: bool = True,
) -> tuple[list[Measured], Failed]:
    """Measure each prompt; one that fails does not lose the others.

    Args:
        ask: makes the request of a prompt.
        prompts: of a file; their rows are its lines.
        look: K, definition and role at which a result is looked at.
        blocks: the blocks shown, as they were typed.
        store: answers what it holds, and keeps the rest.
        device: where to compute.
        fast: as `measure` has it.

    Returns:
        what was measured, and the errors by line.

    Raises:
        InputError, ComputeError, Cancelled: as `many.each`.
    """
    failed: Failed = {}
    done = []

    def take(prompt: Prompt, of: Result, stored: bool) -> None:
        result = cast(DepthResult, of)
        shown = replace(look(result), blocks=parse_blocks(blocks, result.n_blocks))
        one = of_prompt(result, shown)
        row = Row.of(prompt, result, dict(means(one.scores)), shown, stored=stored)
        done.append(Measured(row, one))

    many.each(ask, prompts, store, failed, device=device, fast=fast, blocks=blocks, take=take)
    return sorted(done, key=lambda each: each.row.prompt.row), failed


def report(done: list[Measured], failed: Failed, *, as_json: bool, out: Path | None = None) -> None:
    """Print the aggregate, and warn where there are too few prompts for a claim."""
    over = {name: mean_interval(_column(done, name)) for name in MEASURES}
    view = cast(View, done[0].of.scores.view)
    if not over["coupling"].enough:
        warn(
            f"{many.fewer(len(done))}: a few can overstate coupling, so this is no claim about the "
            "model"
        )
    if np.isnan(over["corrected"].mean):
        warn(done[0].of.scores.none_words)
    many.warn_of_uncertified([m.row for m in done])
    many.warn_of_few([m.row for m in done])
    if as_json:
        print_json(_summary(done, failed, view, over))
        return
    print_lines(
        f"prompts     {len(done)} measured, {sum(m.row.stored for m in done)} of them from the "
        "store" + f", {len(failed)} left out" * bool(failed),
        f"token       {token_words([m.of.at for m in done])}",
        f"score       {definition_name(view)}, K = {view.k}, mean over l != l'{_of_blocks(done)}",
        *([f"written     {out}"] if out else []),
        "",
        f"{'':18}{'mean':>8}{'median':>9}   95\u00a0% interval",
        *(_row(name, over[name]) for name in MEASURES),
    )
    many.show_categories([m.row for m in done], _TITLES)


def _of_blocks(done: list[Measured]) -> str:
    """Of which blocks, where not of all."""
    blocks = done[0].of.scores.blocks
    return f" of blocks {ranges(blocks)}" if len(blocks) < done[0].of.n_blocks else ""


def _row(name: str, over: Interval) -> str:
    sure = many.interval(over)
    return f"{_TITLES[name]:18}{over.mean:z8.4f}{over.median:z9.4f}   {sure}"


def _summary(
    done: list[Measured], failed: Failed, view: View, over: dict[str, Interval]
) -> dict[str, Any]:
    return rows.summary([m.row for m in done], failed) | {
        "enough": over["coupling"].enough,
        "k": view.k,
        "definition": view.definition,
        "p": view.p,
        "role": view.role,
        "blocks": done[0].of.scores.blocks,
        "over_prompts": {name: asdict(interval) for name, interval in over.items()},
        **mean_matrices(done),
    }


def mean_matrices(done: list[Measured]) -> dict[str, np.ndarray]:
    """Raw score, chance floor and corrected score of each pair, as means over the prompts."""
    found = mean_scores([m.of.scores for m in done])
    return {name: getattr(found, name) for name in MEASURES}


def write(path: Path, done: list[Measured], file: Path | None, *, corrected: bool) -> None:
    """Write the aggregate: arrays of means and of each prompt, a row a prompt, or the mean map.

    Args:
        path: where to.
        done: what was measured.
        file: that the prompts came from.
        corrected: whether the map is of chance-corrected scores.

    Raises:
        InputError: where the file cannot be written.
        ComputeError: where the disk is full.
    """
    table = partial(rows.frame, [m.row for m in done])
    about = rows.alike([m.row for m in done])
    content = written(files.ending(path), table, partial(to_arrays, done), AXES, about)
    files.write(path, content if content is not None else _mean_map(path, done, file, corrected))


def _mean_map(path: Path, done: list[Measured], file: Path | None, corrected: bool) -> bytes:
    from coupling_core import figures  # plotly

    def drawing(_: Sequence[Row]) -> "go.Figure":
        parts, listed = [m.of for m in done], many_drawn.listed(file)
        return figures.mean_map(parts, listed, corrected=corrected)

    return many.drawn(drawing, [m.row for m in done], path.suffix)


def to_arrays(done: list[Measured]) -> dict[str, np.ndarray]:
    """Mean matrices over the prompts, and what each prompt gave: its matrices and their means."""
    every = [m.of.scores for m in done]
    return (
        rows.whose([m.row for m in done])
        | mean_matrices(done)
        | {f"{name}_of_each": np.stack([getattr(one, name) for one in every]) for name in MEASURES}
        | {f"prompt_{name}": _column(done, name) for name in MEASURES}
        | {"blocks": np.array(done[0].of.scores.blocks)}
    )


def _column(done: list[Measured], name: str) -> np.ndarray:
    return np.array([m.row.mean[name] for m in done])
