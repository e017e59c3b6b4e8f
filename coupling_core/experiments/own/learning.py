"""Where a model stands that trains: what a page draws of it while it does."""

from dataclasses import dataclass

from coupling_core.analysis.by_step import StepNumbers
from coupling_core.analysis.over_prompts import OfPrompt
from coupling_core.base.results import Progress


@dataclass(frozen=True, kw_only=True)
class Learning(Progress):
    """Where it stands; `done` and `total` are steps.

    Args:
        loss: of the last step, in nats a token.
        kept: numbers of the steps that were kept so far, over a few held-out texts.
        parts: scores of the last of them, a text each.
    """

    loss: float
    kept: tuple[StepNumbers, ...]
    parts: tuple[OfPrompt, ...]
