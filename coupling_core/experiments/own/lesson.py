"""A model trains, and is then measured with a prompt: what a page asks a process of its own for."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coupling_core.analysis.by_step import StepNumbers
from coupling_core.analysis.over_prompts import OfPrompt
from coupling_core.base.records import Request
from coupling_core.base.results import Progress
from coupling_core.experiments.own.plans import OwnPlan
from coupling_core.measuring.filling import fill
from coupling_core.measuring.measure import measure
from coupling_core.measuring.stored_steps import collect
from coupling_core.sources.suites import find_suite
from coupling_core.store.disk import Store

if TYPE_CHECKING:
    from coupling_core.experiments.own.training import Standing

_log = logging.getLogger(__name__)


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


def learn(
    plan: OwnPlan,
    prompt: str,
    store: Store,
    device: str | None,
    progress: Callable[[Progress], None],
) -> None:
    """Train a model, make it a suite, and measure each of its steps with a prompt.

    Args:
        plan: what was chosen.
        prompt: with which the suite is opened afterwards.
        store: where those results are kept.
        device: where to compute; None takes CUDA where there is one.
        progress: told of each step; what it raises ends the run, of which nothing stays, or the
            measuring, after which the suite is there.

    Raises:
        InputError: where there is a suite of this name.
        ComputeError: where the loss is no number any more, or the disk takes nothing.
    """
    from coupling_core.experiments.own.training import train  # torch, which no page imports

    last = Learning("loading", loss=float("nan"), kept=(), parts=())

    def tell(learning: Learning) -> None:
        nonlocal last
        last = learning
        progress(last)

    def report(at: "Standing") -> None:
        done, total = at.trained.step, at.trained.steps
        loss, parts = at.trained.loss, at.look.parts
        tell(Learning("training", done, total, loss=loss, kept=at.kept, parts=parts))

    def measured(told: Progress) -> None:
        tell(replace(last, stage=told.stage, done=told.done, total=told.total))

    @contextmanager
    def watching(_: int) -> Iterator[Callable[[Progress], None]]:
        yield measured

    tell(last)
    train(plan, report, device)
    course = collect(find_suite(plan.name), Request(prompt, k=None), store)
    fill(course, store, measure, device, watching=watching, warn=_log.warning)
