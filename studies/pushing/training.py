"""One run, from its first step to its last; what is drawn is told by seed and step alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coupling_core.engine.penalty import coupling_penalty
from coupling_core.experiments.pretraining import descent
from studies.pushing.outcomes import HeldOut
from studies.pushing.plans import REFRESH, Arm, Study

Look = Callable[[int, Any], None]
"""Told of the step and of the model, which it leaves as it is."""


@dataclass(frozen=True)
class Begun:
    """A run before its first step.

    Args:
        model: freshly initialised, in training mode.
        optimizer: of it.
        loss: of a step, numbered from 0: a forward pass over what the step learns.
        rate: of learning, of a step.
    """

    model: Any
    optimizer: torch.optim.Optimizer
    loss: Callable[[int], Tensor]
    rate: Callable[[int], float]


@dataclass(frozen=True)
class Task:
    """What the models of a study learn, and what is held out of it.

    Args:
        study: whose it is.
        begin: a run of an arm, from a seed.
        held_out: what models are measured on.
    """

    study: Study
    begin: Callable[[Arm, int], Begun]
    held_out: HeldOut


def train(task: Task, arm: Arm, seed: int, look: Look) -> None:
    """Train a model on one CPU or as many as torch is given."""
    run, device = task.begin(arm, seed), torch.device("cpu")
    penalty = None
    if arm.goal is not None:
        penalty = coupling_penalty(run.model, goal=arm.goal, refresh=REFRESH, seed=seed)
    for step in range(arm.steps):
        with descent.drawn(seed, step, device):
            loss = run.loss(step)
            if penalty:
                loss = loss + arm.weight * penalty()
        descent.descend(run.model, run.optimizer, loss, run.rate(step))
        if step + 1 in task.study.steps(arm):
            look(step + 1, run.model)
