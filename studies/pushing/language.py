"""Small language models, on the text of the mini-Pythia suites."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt16
from torch import Tensor

from coupling_core.base.records import View
from coupling_core.experiments.pretraining import batches, descent
from coupling_core.experiments.pretraining.corpus import Corpus
from coupling_core.experiments.pretraining.model import build
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.experiments.pretraining.training import BETAS, learning_rate
from coupling_core.experiments.pushing import Outcomes
from coupling_core.experiments.watching.probes import Probes
from coupling_core.sources.suites import DEFAULT_K, DEFAULT_SUITE
from studies.emergence.windows import COUNT, LENGTH
from studies.pretraining.plans import PLANS
from studies.pushing.outcomes import HeldOut
from studies.pushing.plans import LANGUAGE, Arm
from studies.pushing.training import Begun, Task

CONTEXT = 128
WINDOWS = 128
"""Sequences of `CONTEXT` tokens on which loss and calibration are measured."""
_FEW_EVERY = 4


def language(corpus: Corpus) -> Task:
    """The task of a text."""
    return Task(LANGUAGE, partial(_begin, corpus), held_out(corpus.held_out))


def plan_of(arm: Arm, seed: int) -> Plan:
    """How the run of a seed is trained: mini-64 in short, on sequences half as long."""
    return replace(
        PLANS[DEFAULT_SUITE], name=f"{arm.name}-{seed}", seed=seed, drop_path=arm.drop_path,
        context=CONTEXT, steps=LANGUAGE.steps(arm),
    )  # fmt: skip


def _begin(corpus: Corpus, arm: Arm, seed: int) -> Begun:
    plan = plan_of(arm, seed)
    model = build(plan)

    def loss(step: int) -> Tensor:
        ids = batches.batch(corpus.learned, step, plan.batch, plan.context, seed)
        found: Tensor = model(input_ids=ids, labels=ids, use_cache=False).loss
        return found

    optimizer = descent.make_optimizer(model, plan.weight_decay, BETAS)
    return Begun(model, optimizer, loss, partial(learning_rate, plan))


def held_out(text: UInt16[np.ndarray, " text"]) -> HeldOut:
    """Windows of a text that no run learns."""
    windows = batches.held_out(text, CONTEXT, WINDOWS)
    prompts = tuple(batches.held_out(text, LENGTH, COUNT))
    return HeldOut(
        record=Outcomes,
        probes=Probes(prompts, View(k=DEFAULT_K)),
        processor=None,
        paths=prompts,
        given=windows,
        wanted=windows[:, 1:],
        few_every=_FEW_EVERY,
        logits=_logits,
    )


def _logits(model: Any, windows: Int64[Tensor, "sequence token"]) -> Tensor:
    logits: Tensor = model(input_ids=windows, use_cache=False).logits
    return logits[:, :-1]
