"""One run, from its first step to its last; what is drawn is told by seed and step alone."""

from collections.abc import Callable
from typing import Any

import torch

from coupling_core.engine.penalty import coupling_penalty
from coupling_core.experiments.pretraining import batches, descent
from coupling_core.experiments.pretraining.corpus import Corpus
from coupling_core.experiments.pretraining.model import build
from coupling_core.experiments.pretraining.training import BETAS, learning_rate
from coupling_core.experiments.pushing.plans import REFRESH, Arm

Look = Callable[[int, Any], None]
"""Told of the step and of the model, which it leaves as it is."""


def train(arm: Arm, seed: int, corpus: Corpus, look: Look) -> None:
    """Train a model on one CPU or as many as torch is given.

    Args:
        arm: what is done to it.
        seed: of its weights, the order of the text and all that is drawn.
        corpus: what it learns.
        look: called after the steps of the plan.

    Raises:
        ComputeError: where the loss is no number any more.
    """
    plan, device = arm.plan(seed), torch.device("cpu")
    model = build(plan)
    optimizer = descent.make_optimizer(model, plan.weight_decay, BETAS)
    penalty = None
    if arm.goal is not None:
        penalty = coupling_penalty(model, goal=arm.goal, refresh=REFRESH, seed=seed)
    for step in range(plan.steps[-1]):
        ids = batches.batch(corpus.learned, step, plan.batch, plan.context, plan.seed)
        with descent.drawn(plan.seed, step, device):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
            if penalty:
                loss = loss + arm.weight * penalty()
        descent.descend(model, optimizer, loss, learning_rate(plan, step))
        if step + 1 in plan.steps:
            look(step + 1, model)
