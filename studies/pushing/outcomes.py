"""What is measured of a model, on what no run learns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from coupling_core.analysis.trajectory import line_shape
from coupling_core.base.numbers import mean
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.token_paths import walk
from coupling_core.experiments.pushing import Outcomes
from coupling_core.experiments.watching.probes import Probes

BINS = 15
_TOGETHER = 32
"""Sequences, or pictures, at a time."""


@dataclass(frozen=True)
class HeldOut:
    """What models are measured on.

    Args:
        record: what is kept of a measurement.
        probes: for coupling.
        processor: of the probes; None where these are token ids.
        paths: the same, as the model reads them, for the line-shape score.
        given: what the model reads for loss and calibration, a row each.
        wanted: what it is to tell of each row.
        few_every: of so many rows one is read with blocks left out.
        logits: of a model and some rows, those of what is wanted.
    """

    record: type[Outcomes]
    probes: Probes
    processor: Any
    paths: tuple[Tensor, ...]
    given: Tensor
    wanted: Int64[Tensor, "row *token"]
    few_every: int
    logits: Callable[[Any, Tensor], Tensor]

    @torch.no_grad()
    def predictions(
        self, model: Any, every: int = 1
    ) -> tuple[float, Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """The loss in nats; and the highest probability of each prediction, and if it is right.

        Of so many rows (`every`) one is read.
        """
        losses, sure, right = [], [], []
        rows, wanted = self.given[::every], self.wanted[::every]
        for part, told in zip(rows.split(_TOGETHER), wanted.split(_TOGETHER), strict=True):
            log_p = self.logits(model, part).float().log_softmax(-1)
            losses.append(-log_p.gather(-1, told[..., None]).flatten())
            highest, likeliest = log_p.max(-1)
            sure.append(highest.exp().flatten())
            right.append((likeliest == told).flatten())
        return (
            float(torch.cat(losses).double().mean()),
            torch.cat(sure).numpy(),
            torch.cat(right).numpy(),
        )

    def without(self, model: Any, block: int) -> float:
        """The loss of the few rows with a block left out."""
        with edited(model, f"skip({block})"):
            return self.predictions(model, self.few_every)[0]


def measure_outcomes(model: Any, step: int, held_out: HeldOut) -> Outcomes:
    """Measure a model, and leave it as it was."""
    numbers = dict(held_out.probes.look(model, held_out.processor, step, None).numbers)
    with evaluated(model):
        loss, sure, right = held_out.predictions(model)
        whole = held_out.predictions(model, held_out.few_every)[0]
        inner = range(2, int(model.config.num_hidden_layers))
        cost = np.mean([held_out.without(model, block) - whole for block in inner])
        shapes = [_line_shape(model, path) for path in held_out.paths]
    numbers |= {
        "loss": loss,
        "accuracy": float(right.mean()),
        "calibration": calibration(sure, right),
        "skipping": float(cost),
        "line_shape": float(np.mean(shapes)),
    }
    kept = {field.name for field in fields(held_out.record)} - {"step"}
    return held_out.record(step, **{name: numbers[name] for name in kept})


@contextmanager
def evaluated(model: Any) -> Iterator[None]:
    """A model in evaluation mode, which is then in the mode that it was in."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


def calibration(
    sure: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"], bins: int = BINS
) -> float:
    """Expected calibration error: the mean distance of how sure and how often right.

    The predictions are put into bins of equal size, from the least sure to the surest, and the
    distance is taken in each (Guo et al. 2017, with bins of equal size).
    """
    order = np.argsort(sure, kind="stable")
    parts = [(sure[at].mean(), right[at].mean(), len(at)) for at in np.array_split(order, bins)]
    return float(sum(n * abs(told - came) for told, came, n in parts) / len(sure))


def _line_shape(model: Any, path: Tensor) -> float:
    return mean(line_shape(walk(read(model, path)).states.double().numpy()))
