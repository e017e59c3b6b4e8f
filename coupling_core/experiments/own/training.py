"""A run of one's own: seen by nobody until it has ended, and then a suite like any other."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from coupling_core.analysis.by_step import StepNumbers, numbers_at
from coupling_core.base.folders import user_cache
from coupling_core.base.records import View
from coupling_core.base.writing import write_whole, writing
from coupling_core.engine.penalty import coupling_penalty
from coupling_core.experiments.own.plans import OwnPlan
from coupling_core.experiments.pretraining import training
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.experiments.pretraining.corpus import Corpus, encode, read
from coupling_core.experiments.pretraining.run import STATE
from coupling_core.experiments.pretraining.training import Trained
from coupling_core.experiments.watching.probes import Look, Probes
from coupling_core.sources import hub
from coupling_core.sources.suites import DEFAULT_K

VIEW = View(DEFAULT_K)
"""How coupling is looked at while it trains."""
PROBES = 4
"""Held-out windows on which coupling is looked at while it trains."""
_UNDER_WAY = ".training"
_TEXT = "own-text"
_REFRESH = 4


@dataclass(frozen=True)
class Standing:
    """Where a run stands.

    Args:
        trained: steps and losses.
        look: at coupling, of the last step that was kept.
        kept: numbers of all steps that were kept so far.
    """

    trained: Trained
    look: Look
    kept: tuple[StepNumbers, ...]


def train(plan: OwnPlan, report: Callable[[Standing], None], device: str | None = None) -> Path:
    """Train a model, and make it a suite.

    Args:
        plan: what was chosen.
        report: told after every step; an exception it raises ends the run, of which nothing stays.
        device: where to compute; None takes CUDA where there is one.

    Returns:
        the folder of the suite.

    Raises:
        InputError: where there is a suite of this name.
        ComputeError: where the loss is no number any more, or the disk takes nothing.
    """
    plan.require_free()
    words = text()
    looks: list[Look] = []
    kept: list[StepNumbers] = []
    probes = Probes(tuple(held_out(words.held_out, plan.recipe().context, PROBES)), VIEW)

    def look(step: int, model: Any) -> None:
        looks.append(probes.look(model, None, step, None))

    folder = _staging(plan)
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was ended from outside
    with writing(folder, "free some space on its disk"):
        folder.mkdir(parents=True)
    try:
        training.train(
            plan.recipe(),
            words,
            folder,
            lambda at: report(Standing(at, looks[-1], _noted(kept, looks, at))),
            device,
            look=look,
            added=lambda model: _penalty(plan, model),
        )
        (folder / STATE).unlink()
        write_whole(folder / hub.cache.WATCHED, json.dumps({"title": plan.title}).encode())
        return folder.rename(hub.cache.trained_here(plan.repo))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def text() -> Corpus:
    """The topics of Python's `help`, half a million letters of plain English with some code.

    They are encoded once, by a vocabulary of their own, and then kept in the user's cache. Another
    version of Python has another text, and a folder of its own.
    """
    from pydoc_data.topics import topics

    documents = [topics[name] for name in sorted(topics)]
    folder = user_cache() / _TEXT / str(sum(map(len, documents)))
    if not (folder / "held_out.npy").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        encode(documents, folder)
    return read(folder)


def _noted(kept: list[StepNumbers], looks: Sequence[Look], at: Trained) -> tuple[StepNumbers, ...]:
    """The numbers of the steps that were looked at; a new one has the held-out loss of now."""
    if len(kept) < len(looks):
        look = looks[-1]
        found = numbers_at(look.step, VIEW, loss=at.held_out)
        kept.append(StepNumbers(look.step, {**found.values, **look.numbers}))
    return tuple(kept)


def _staging(plan: OwnPlan) -> Path:
    """Where no list of suites looks; on the same disk."""
    return user_cache() / "suites" / _UNDER_WAY / plan.name


def _penalty(plan: OwnPlan, model: Any) -> Callable[[], Tensor] | None:
    if plan.goal is None:
        return None
    penalty = coupling_penalty(model, goal=plan.goal, refresh=_REFRESH, seed=plan.seed)
    return lambda: plan.weight * penalty()
