"""A fixed set of prompts, measured with a model that is in the middle of its training."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from coupling_core.analysis.by_step import StepNumbers, numbers_at, step_columns
from coupling_core.analysis.over_prompts import OfPrompt, of_prompt
from coupling_core.analysis.scores import known_interval
from coupling_core.base.records import View
from coupling_core.experiments.watching.run import Run
from coupling_core.measuring.front import measure

NUMBERS = ("corrected", "alignment", "chance", "locality")
"""Of `StepNumbers`: what is reported."""


@dataclass(frozen=True)
class Look:
    """What the probes came to at one step.

    Args:
        step: of training.
        numbers: means over the probes, by name: those of `NUMBERS`.
        parts: the scores of each probe, of which the map is made.
        seconds: that it took.
    """

    step: int
    numbers: dict[str, float]
    parts: tuple[OfPrompt, ...] = field(repr=False)
    seconds: float

    @property
    def by_step(self) -> StepNumbers:
        """The same as the numbers of a step of a training run; what is not measured is NaN."""
        raw = known_interval(np.array([part.mean(corrected=False) for part in self.parts])).mean
        unknown = dict.fromkeys(step_columns(), float("nan"))
        return StepNumbers(self.step, unknown | self.numbers | {"coupling": raw})


@contextmanager
def own_forward(model: Any) -> Iterator[None]:
    """A model without what accelerate puts round its forward: autocast, and outputs in float32."""
    wrapped = vars(model).pop("forward", None) if hasattr(model, "_original_forward") else None
    try:
        yield
    finally:
        if wrapped is not None:
            model.forward = wrapped


@dataclass(frozen=True)
class Probes:
    """The prompts, and how they are looked at.

    Args:
        prompts: texts, token ids, or images as data URIs.
        view: K and the score.
        token: the token of each that is measured, 1..n; None is the usual one, as of `measure`.
    """

    prompts: tuple[Any, ...]
    view: View
    token: int | None = None

    def look(self, model: Any, tokenizer: Any, step: int, run: Run | None) -> Look:
        """Measure all of them, and leave the model and all random numbers as they were.

        The run keeps the results; None keeps none.
        """
        began = time.perf_counter()
        own: dict[str, Any] = {"model": model, "tokenizer": tokenizer, "progress": False}
        own["device"] = next(model.parameters()).device
        found: list[StepNumbers] = []
        parts: list[OfPrompt] = []
        gpus = [own["device"]] if own["device"].type == "cuda" else []
        with torch.random.fork_rng(devices=gpus), torch.enable_grad(), own_forward(model):
            for prompt in self.prompts:
                depth = measure(prompt, None, k=self.view.k, token=self.token, **own)
                parts.append(of_prompt(depth, self.view))
                found.append(numbers_at(step, self.view, depth))
                if run is not None:
                    run.keep(step, depth, measure(prompt, None, kind="trajectory", **own))
        of = {name: np.array([getattr(n, name) for n in found]) for name in NUMBERS}
        means = {name: known_interval(values).mean for name, values in of.items()}
        return Look(step, means, tuple(parts), time.perf_counter() - began)
