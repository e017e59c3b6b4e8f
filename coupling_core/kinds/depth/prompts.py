"""Many prompts: each measured (a stored one is only read), then means with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from coupling_core.analysis.exports import to_csv, to_npz
from coupling_core.analysis.scores import (
    MIN_PROMPTS,
    Interval,
    Scores,
    definition_name,
    mean_interval,
    means,
    score_pairs,
)
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.records import Request, View, parse_blocks
from coupling_core.base.results import DepthResult
from coupling_core.cli import files
from coupling_core.cli.terminal import ProgressBar, print_json, print_lines, warn
from coupling_core.measuring.measure import measure
from coupling_core.sources.prompts import Prompt
from coupling_core.sources.resolved import resolve
from coupling_core.store.disk import Store

MEASURES = ("coupling", "chance", "corrected")


@dataclass(frozen=True)
class Measured:
    """One prompt's part in an aggregate.

    Args:
        line: of the file, counted from 1.
        prompt: its text.
        key: of its result in the store.
        stored: whether it was there before.
        seconds: of computing; 0 where it was stored.
        load_seconds: of loading the model; 0 where it was in memory already.
        found: the scores of the view.
        mean: their means over l != l'.
    """

    line: int
    prompt: str
    key: str
    stored: bool
    seconds: float
    load_seconds: float
    found: Scores
    mean: dict[str, float]


def measure_all(
    ask: Callable[[str], Request],
    prompts: Sequence[Prompt],
    view: View,
    blocks: str | None,
    store: Store,
    device: str | None = None,
    *,
    fast: bool = True,
) -> tuple[list[Measured], dict[int, InputError | ComputeError]]:
    """Measure each prompt; one that fails does not lose the others.

    Args:
        ask: makes the request of a prompt.
        prompts: of a file; their rows are its lines.
        view: K, definition and role.
        blocks: the blocks shown, as they were typed.
        store: answers what it holds, and keeps the rest.
        device: where to compute.
        fast: as `measure` has it.

    Returns:
        what was measured, and the errors by line.

    Raises:
        InputError, ComputeError: where the model itself is out of reach, or all prompts fail.
    """
    resolve(ask("-"))  # one complaint about the model, not one a prompt
    done: list[Measured] = []
    failed: dict[int, InputError | ComputeError] = {}
    for prompt in prompts:
        line = prompt.row
        try:
            with ProgressBar(blocks, f"line {line}") as bar:
                request = ask(prompt.text)
                found = measure(request, store, device=device, fast=fast, progress=bar)
            result = cast(DepthResult, found)
            shown = replace(view, blocks=parse_blocks(blocks, result.n_blocks))
            done.append(_measured(line, prompt.words, result, shown, stored=not bar.used))
        except (InputError, ComputeError) as error:
            failed[line] = error
            warn(f"line {line} is left out: {error}")
    if not done:
        first = next(iter(failed.values()))
        raise type(first)(f"every prompt failed, the first with: {first}")
    return done, failed


def _measured(line: int, prompt: str, result: DepthResult, view: View, *, stored: bool) -> Measured:
    found = score_pairs(result, view)
    seconds, load_seconds = (
        0.0 if stored else float(result.provenance[name]) for name in ("seconds", "load_seconds")
    )
    mean = means(found)
    found = replace(found, result=None)  # of many prompts, results would fill the memory
    return Measured(line, prompt, result.key, stored, seconds, load_seconds, found, mean)


def report(
    done: list[Measured], failed: dict[int, InputError | ComputeError], view: View, *, as_json: bool
) -> None:
    """Print the aggregate, and warn where there are too few prompts for a claim."""
    over = {name: mean_interval(_column(done, name)) for name in MEASURES}
    if not over["coupling"].enough:
        warn(
            f"{len(done)} prompts are fewer than {MIN_PROMPTS}: a few prompts overstate coupling, "
            "so this is no claim about the model"
        )
    if as_json:
        print_json(_summary(done, failed, view, over))
        return
    print_lines(
        f"prompts     {len(done)} measured, {sum(m.stored for m in done)} of them from the store"
        + f", {len(failed)} left out" * bool(failed),
        f"score       {definition_name(view)}, K = {view.k}, mean over l != l'",
        f"{'':18}{'mean':>8}{'median':>9}   95% interval",
        *(_row(name, over[name]) for name in MEASURES),
    )


def _row(name: str, over: Interval) -> str:
    title = {"coupling": "c", "chance": "chance floor", "corrected": "chance-corrected"}[name]
    sure = "none of one prompt" if over.n < 2 else f"{over.low:.4f} to {over.high:.4f}"
    return f"{title:18}{over.mean:8.4f}{over.median:9.4f}   {sure}"


def _summary(
    done: list[Measured],
    failed: dict[int, InputError | ComputeError],
    view: View,
    over: dict[str, Interval],
) -> dict[str, Any]:
    return {
        "n": len(done),
        "enough": over["coupling"].enough,
        "seconds": sum(m.seconds for m in done),
        "load_seconds": sum(m.load_seconds for m in done),
        "stored": all(m.stored for m in done),
        "key": [m.key for m in done],
        "k": view.k,
        "definition": view.definition,
        "p": view.p,
        "role": view.role,
        "blocks": done[0].found.blocks,
        "over_prompts": {name: asdict(interval) for name, interval in over.items()},
        **mean_matrices(done),
        "prompts": [
            {"line": m.line, "prompt": m.prompt, "key": m.key, "stored": m.stored, "mean": m.mean}
            for m in done
        ],
        "failed": [{"line": line, "error": str(error)} for line, error in failed.items()],
    }


def mean_matrices(done: list[Measured]) -> dict[str, np.ndarray]:
    """Raw score, chance floor and corrected score of each pair, as means over the prompts."""
    return {name: np.mean([getattr(m.found, name) for m in done], axis=0) for name in MEASURES}


def write(path: Path, done: list[Measured]) -> None:
    """Write the aggregate: .npz has mean matrices and what each prompt gave, .csv a row a prompt.

    Raises:
        InputError: where the file cannot be written.
        ComputeError: where the disk is full.
    """
    if path.suffix == ".csv":
        from pandas import DataFrame

        rows = [{"line": m.line, "prompt": m.prompt, **m.mean, "key": m.key} for m in done]
        files.write(path, to_csv(DataFrame(rows)))
        return
    per_prompt = {f"prompt_{name}": _column(done, name) for name in MEASURES}
    named = mean_matrices(done) | per_prompt
    named["blocks"] = np.array(done[0].found.blocks)
    named["lines"] = np.array([m.line for m in done])
    named["prompts"] = np.array([m.prompt for m in done])
    files.write(path, to_npz(named))


def _column(done: list[Measured], name: str) -> np.ndarray:
    return np.array([m.mean[name] for m in done])
