"""One run, from its first step to its last; what is drawn is told by seed and step alone."""

from collections.abc import Callable
from typing import Any

import torch

from coupling_core.engine.penalty import coupling_penalty
from coupling_core.experiments.pretraining import descent
from coupling_core.experiments.pushing.plans import REFRESH, Arm
from coupling_core.experiments.pushing.tasks import Task

Look = Callable[[int, Any], None]
"""Told of the step and of the model, which it leaves as it is."""


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
