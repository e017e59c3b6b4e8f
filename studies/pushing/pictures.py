"""Small vision transformers, on Fashion-MNIST."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coupling_core.base.images import from_pixels
from coupling_core.base.records import View
from coupling_core.experiments.pretraining import batches, descent
from coupling_core.experiments.pushing import OutcomesOfPictures
from coupling_core.experiments.watching.probes import Probes
from coupling_core.sources.suites import DEFAULT_K
from studies.emergence.windows import COUNT
from studies.pushing.outcomes import HeldOut
from studies.pushing.plans import VISION, Arm
from studies.pushing.training import Begun, Task
from studies.vision.model import Pixels, build, make_processor
from studies.vision.pictures import Pictures
from studies.vision.plans import PRESETS, VisionPlan
from studies.vision.training import BETAS

WARMUP = 40
"""Steps."""
CLASS_TOKEN = 1
_FEW_EVERY = 10


def vision(pictures: Pictures) -> Task:
    """The task of pictures with their classes."""
    pixels = Pixels(pictures, torch.device("cpu"))
    return Task(VISION, partial(_begin, pictures, pixels), held_out(pictures, pixels))


def plan_of(arm: Arm, seed: int) -> VisionPlan:
    """The model of a seed, and how it learns: that of the suite, for the steps of the arm."""
    of_suite = PRESETS["fashion"].plan
    return replace(of_suite, name=f"{arm.name}-{seed}", seed=seed, drop_path=arm.drop_path)


def _begin(pictures: Pictures, pixels: Pixels, arm: Arm, seed: int) -> Begun:
    plan = plan_of(arm, seed)
    model = build(plan, pictures.classes, pictures.channels)
    labels = torch.from_numpy(pictures.labels)
    steps = len(labels) // plan.batch

    def loss(step: int) -> Tensor:
        epoch, number = divmod(step, steps)
        order = batches.order(seed, epoch, len(labels))
        chosen = order[number * plan.batch : (number + 1) * plan.batch]
        logits = model(pixel_values=pixels(pictures.learned[chosen])).logits
        return torch.nn.functional.cross_entropy(logits, labels[chosen])

    optimizer = descent.make_optimizer(model, plan.weight_decay, BETAS, fused=True)
    rate = partial(
        descent.learning_rate,
        highest=plan.learning_rate, warmup=WARMUP, steps=arm.steps, last=0.0,
    )  # fmt: skip
    return Begun(model, optimizer, loss, rate)


def held_out(pictures: Pictures, pixels: Pixels) -> HeldOut:
    """Pictures that no run learns; coupling and paths are of some that lie evenly over them."""
    given = pixels(pictures.held_out)
    some = np.linspace(0, len(given) - 1, COUNT).astype(int).tolist()
    prompts = tuple(from_pixels(pictures.held_out[one]) for one in some)
    return HeldOut(
        record=OutcomesOfPictures,
        probes=Probes(prompts, View(k=DEFAULT_K), CLASS_TOKEN),
        processor=make_processor(pictures),
        paths=tuple(given[one : one + 1] for one in some),
        given=given,
        wanted=torch.from_numpy(pictures.held_out_labels),
        few_every=_FEW_EVERY,
        logits=_logits,
    )


def _logits(model: Any, pixels: Tensor) -> Tensor:
    logits: Tensor = model(pixel_values=pixels).logits
    return logits
