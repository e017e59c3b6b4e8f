"""What runs learn: the same arms with other models and other data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coupling_core.experiments.pushing.outcomes import HeldOut
from coupling_core.experiments.pushing.plans import Arm, Study


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
