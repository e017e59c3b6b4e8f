"""One step of the optimiser, as every run here takes it: told by its number alone."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from coupling_core.base.errors import ComputeError

CLIP = 1.0
"""Largest norm of a gradient."""


def learning_rate(step: int, highest: float, warmup: int, steps: int, last: float) -> float:
    """The rate of a step: it rises over the first ones, then falls along a cosine.

    Those of transformers are a step away from it, either in the rise or in the fall.

    Args:
        step: numbered from 0.
        highest: reached as the last step of the warm-up.
        warmup: steps.
        steps: of the run.
        last: what is left of the highest once the run has ended, as a part of 1.
    """
    if step < warmup:
        return highest * (step + 1) / warmup
    done = (step - warmup) / (steps - warmup)
    fall = (1 + math.cos(math.pi * done)) / 2
    return highest * (last + (1 - last) * fall)


def make_optimizer(
    model: torch.nn.Module, weight_decay: float, betas: tuple[float, float], *, fused: bool = False
) -> torch.optim.AdamW:
    """AdamW whose decay is of matrices and convolutions only.

    Norms, biases, and learned tokens and positions have none.
    """
    weights = [p for p in model.parameters() if p.ndim in (2, 4)]
    others = [p for p in model.parameters() if p.ndim not in (2, 4)]
    groups: list[dict[str, Any]] = [{"params": weights}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=betas, weight_decay=weight_decay, fused=fused)


def descend(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float
) -> float:
    """Take one step down the gradient of a loss, and give its value."""
    value = float(loss.detach())
    if not math.isfinite(value):
        raise ComputeError(
            f"the loss is {value}: the learning rate {rate:g} is too high for this device"
        )
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return value


@contextmanager
def drawn(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """What is drawn inside, such as which blocks are dropped, is told by seed and step alone."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed * 10**6 + step)
        yield
