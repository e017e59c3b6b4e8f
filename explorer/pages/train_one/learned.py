"""What is drawn of a model, while it trains and afterwards."""

from dataclasses import dataclass

from coupling_core.analysis.by_step import StepNumbers
from coupling_core.analysis.over_prompts import OfPrompt, of_prompt
from coupling_core.base.records import Request, View
from coupling_core.experiments.own.lesson import Learning
from coupling_core.serving.lane import Turn
from coupling_core.sources.suites import DEFAULT_K, Suite, suites
from explorer.pages.training.courses import open_run
from explorer.server.trainer import lane

VIEW = View(DEFAULT_K)
"""How these models are looked at."""


@dataclass(frozen=True)
class Learned:
    """A model, as far as it is.

    Args:
        name: of it.
        turn: where its training stands, or how it ended; None where it was trained before this app
            began.
        suite: what it became; None before it has ended.
        kept: its numbers by step.
        parts: scores of its last step, a text each.
        over: what the numbers are means over, as a phrase.
    """

    name: str
    turn: Turn | None
    suite: Suite | None
    kept: tuple[StepNumbers, ...]
    parts: tuple[OfPrompt, ...]
    over: str

    @property
    def title(self) -> str:
        """What it is, in words."""
        return self.suite.title if self.suite else self.name


def find(name: str, prompt: str) -> Learned:
    """What there is of a model by its name.

    Args:
        name: as it was called.
        prompt: with which it was measured where nobody looked on.
    """
    turn, suite = lane().standing(name), suites().get(name)
    if turn and isinstance(turn.progress, Learning):
        told = turn.progress
        return Learned(name, turn, suite, told.kept, told.parts, "4 held-out texts")
    if suite is None:
        return Learned(name, turn, None, (), (), "")
    run = open_run(name, Request(prompt), spectra=False)
    last = run.course.depth.get(suite.steps[-1])
    parts = (of_prompt(last, VIEW),) if last else ()
    kept = tuple(one for one in run.numbers(VIEW) if one.step in run.course.depth)
    return Learned(name, turn, suite, kept, parts, "one prompt")
