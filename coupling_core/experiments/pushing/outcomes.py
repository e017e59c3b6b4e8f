"""What is measured of a model, on text that no run learns."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, UInt16
from torch import Tensor

from coupling_core.analysis.trajectory import line_shape, mean
from coupling_core.base.records import View
from coupling_core.engine.edits.edited import edited
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.token_paths import walk
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.experiments.pretraining.windows import COUNT, LENGTH
from coupling_core.experiments.pushing.plans import CONTEXT
from coupling_core.experiments.watching.probes import Probes
from coupling_core.sources.suites import DEFAULT_K

WINDOWS = 128
"""Sequences of `CONTEXT` tokens on which loss and calibration are measured."""
FEW_WINDOWS = 32
"""Those of them on which blocks are left out."""
BINS = 15
_TOGETHER = 32
"""Sequences at a time."""


@dataclass(frozen=True)
class Outcomes:
    """A model at one step.

    Args:
        step: of the optimiser.
        loss: held-out, in nats a token.
        calibration: expected error of the probability that the model gives its likeliest token,
            0 to 1; 0 is a model that is right as often as it says.
        skipping: how many nats a token leaving one inner block out costs, in the mean over them.
        corrected: mean chance-corrected score of the pairs of blocks, K = 8.
        alignment: mean alignment of the same; 0 is chance.
        chance: mean floor of the uncorrected score.
        locality: corrected score of neighbours less that of all others.
        line_shape: mean line-shape score of the tokens' paths; 1 is straight.
    """

    step: int
    loss: float
    calibration: float
    skipping: float
    corrected: float
    alignment: float
    chance: float
    locality: float
    line_shape: float


def measure_outcomes(model: Any, step: int, text: UInt16[np.ndarray, " text"]) -> Outcomes:
    """Measure a model, and leave it as it was.

    Args:
        model: in any mode.
        step: at which it is.
        text: held-out token ids.
    """
    probes = Probes(tuple(held_out(text, LENGTH, COUNT)), View(k=DEFAULT_K))
    coupling = probes.look(model, None, step, None).numbers
    with evaluated(model):
        windows = held_out(text, CONTEXT, WINDOWS)
        loss, sure, right = predictions(model, windows)
        few = windows[:: WINDOWS // FEW_WINDOWS]
        whole, inner = float(predictions(model, few)[0]), range(2, _depth(model))
        cost = np.mean([_without(model, few, block) - whole for block in inner])
        shapes = [_line_shape(model, probe) for probe in probes.prompts]
    return Outcomes(
        step=step,
        loss=loss,
        calibration=calibration(sure, right),
        skipping=float(cost),
        line_shape=float(np.mean(shapes)),
        **coupling,
    )


@contextmanager
def evaluated(model: Any) -> Iterator[None]:
    """A model in evaluation mode, which is then in the mode that it was in."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


@torch.no_grad()
def predictions(
    model: Any, windows: Int64[Tensor, "sequence token"]
) -> tuple[float, Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The loss in nats a token; and of each token the highest probability, and whether it is right.

    Args:
        model: in evaluation mode.
        windows: token ids; the first of each is not predicted.
    """
    losses, sure, right = [], [], []
    for part in windows.split(_TOGETHER):
        log_p = model(input_ids=part, use_cache=False).logits[:, :-1].float().log_softmax(-1)
        wanted = part[:, 1:]
        losses.append(-log_p.gather(-1, wanted[..., None]).flatten())
        highest, token = log_p.max(-1)
        sure.append(highest.exp().flatten())
        right.append((token == wanted).flatten())
    return (
        float(torch.cat(losses).double().mean()),
        torch.cat(sure).numpy(),
        torch.cat(right).numpy(),
    )


def calibration(
    sure: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"], bins: int = BINS
) -> float:
    """Expected calibration error: the mean distance of how sure and how often right.

    The predictions are put into bins of equal size, from the least sure to the surest, and the
    distance is taken in each (Guo et al. 2017, with bins of equal size).

    Args:
        sure: probability of what is predicted.
        right: whether it came.
        bins: how many.
    """
    order = np.argsort(sure, kind="stable")
    parts = [(sure[at].mean(), right[at].mean(), len(at)) for at in np.array_split(order, bins)]
    return float(sum(n * abs(told - came) for told, came, n in parts) / len(sure))


def _depth(model: Any) -> int:
    return int(model.config.num_hidden_layers)


def _without(model: Any, windows: Int64[Tensor, "sequence token"], block: int) -> float:
    with edited(model, f"skip({block})"):
        return predictions(model, windows)[0]


def _line_shape(model: Any, ids: Int64[Tensor, " token"]) -> float:
    return mean(line_shape(walk(read(model, ids.tolist())).states.double().numpy()))
