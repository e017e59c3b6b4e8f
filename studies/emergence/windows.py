"""Coupling over many held-out windows, at every step of a suite: what claims about it rest on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import UInt16
from pandas import DataFrame

from coupling_core.analysis import trajectory
from coupling_core.analysis.by_step import Course, StepNumbers, numbers, step_columns
from coupling_core.base.numbers import mean
from coupling_core.base.records import Request, View
from coupling_core.base.results import DepthResult
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import load
from coupling_core.engine.token_paths import walk
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.measuring.measure import measure
from coupling_core.sources.resolved import resolve
from coupling_core.sources.suites import DEFAULT_K, Suite

COUNT = 40
"""Windows: as many as a claim needs (`scores.MIN_PROMPTS`)."""

LENGTH = 64
"""Tokens a window; the last one is measured."""

VIEW = View(k=DEFAULT_K)
NAME = "windows.csv"


def measure_windows(
    suite: Suite,
    text: UInt16[np.ndarray, " text"],
    steps: Sequence[int],
    count: int = COUNT,
    length: int = LENGTH,
    view: View = VIEW,
) -> list[tuple[int, StepNumbers]]:
    """The numbers of a suite's steps in windows that lie evenly over a text.

    They come in pairs of a window (1..count) and a step's numbers, window by window.
    """
    prompts = [tuple(row) for row in held_out(text, length, count).tolist()]
    requests = [Request(prompt, k=view.k, k_view=1) for prompt in prompts]
    depth: list[dict[int, DepthResult]] = [{} for _ in requests]
    shapes: list[dict[int, dict[str, Any]]] = [{} for _ in requests]
    for step in steps:  # the outer loop, so that each checkpoint is loaded once
        for window, request in enumerate(requests):
            asked = suite.request(request, step)
            depth[window][step] = cast(DepthResult, measure(asked))
            shapes[window][step] = _path_numbers(asked)
    return [
        (window + 1, replace(found, values={**found.values, **shapes[window][found.step]}))
        for window, request in enumerate(requests)
        for found in numbers(Course(suite, request, tuple(steps), depth[window], {}), view)
    ]


def _path_numbers(request: Request) -> dict[str, Any]:
    """Those of paths, without the linearised errors of a whole measurement."""
    loaded = load(resolve(request))
    reader = read(loaded.model, loaded.encode(request.prompt), device=loaded.device)
    states = walk(reader).states.double().cpu().numpy()
    found = trajectory.of_paths(states)
    return {name: mean(of) for name, of in found.items() if name in step_columns()}


def write(path: Path, rows: list[tuple[int, StepNumbers]]) -> None:
    """One line a window and step; the loss, which is the step's and not the window's, is left out.

    `losses.csv` has it.
    """
    table = DataFrame([{"window": window} | found.to_dict() for window, found in rows])
    without = [name for name, of in step_columns().items() if of.kind in ("", "spectrum")]
    table.drop(columns=without).to_csv(  # which no window has
        path, index=False, float_format="%.6g", na_rep="nan", lineterminator="\n"
    )
