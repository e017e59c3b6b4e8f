"""Coupling, measured every few steps of a training and told to whatever the trainer reports to.

trainer = Trainer(model, arguments, ..., callbacks=[CouplingCallback(prompts, every=100)])

watch = CouplingCallback(prompts, every=100, name="my-run")      # a loop of one's own
for step, batch in enumerate(data, 1):
...
watch.after(step, model, tokenizer)
"""

import logging
import math
import time
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from transformers import TrainerCallback

from coupling_core.analysis.by_step import StepNumbers
from coupling_core.base.errors import CouplingError, InputError
from coupling_core.base.notebook import Plottable, Table
from coupling_core.base.records import View
from coupling_core.base.units import counted, duration, rounded
from coupling_core.experiments.watching.budget import Budget
from coupling_core.experiments.watching.probes import Look, Probes
from coupling_core.experiments.watching.reports import (
    Report,
    picture,
    reports,
    tensorboard_folder,
)
from coupling_core.experiments.watching.run import Run
from coupling_core.sources.suites import DEFAULT_K
from coupling_core.store.disk import Store, as_store

WatchedFigure = Literal["corrected", "coupling", "alignment", "locality", "loss"]

_log = logging.getLogger(__name__)


class CouplingCallback(TrainerCallback, Plottable[WatchedFigure]):
    """Watch coupling while a model trains, which goes on as if nobody looked.

    Modes, gradients, random numbers and the losses stay as they are to the last bit. A step is
    left out where measuring it would take more than `share` of the time so far, and the first that
    is, is logged. What this model can never meet, such as a K beyond its width, ends the first look
    and with it the training; what fails later is logged, and the training goes on.

    Its table has a row a look: `step`; `loss`, held-out in nats a token where it was noted; means
    over the prompts `coupling` (c), `chance` (its floor), `corrected`, `alignment` and `locality`
    (how much more neighbouring blocks are coupled than all others), all without a unit; and
    `seconds`, that the look took. Its figures are "corrected", "coupling", "alignment", "locality"
    and "loss", by step.

    Args:
        prompts: the probes: texts, or token ids as tuples. The same at every step.
        every: steps after which it is measured; step 0 and the last are, too.
        k: leading singular directions that are compared; few for narrow models.
        share: of the training's time, which measuring may take at most.
        tokenizer: of the model; a trainer hands over its own.
        name: keeps the results as a training run of this name, which the page Training shows while
            it goes on and afterwards, and `coupling training --suite NAME` prints. "" keeps none.
            Where a run of that name is there, this one goes on with it from its own first step on:
            what that had of this step and later ones is replaced, which is logged.
        title: what that run is, in words; its name by default.
        store: where the results lie; the store of the command line by default.
        report: told of every look, with the map as PNG, beside what the trainer reports to.

    Attributes:
        looks: what was measured so far, a `Look` for each step.
        left_out: steps that were due, and left out to keep within the share.

    Raises:
        InputError: where there is no prompt, or a number or name makes no sense; at the first look,
            where the model cannot be measured so.
    """

    figures: ClassVar = dict.fromkeys(get_args(WatchedFigure), "training.by_step")

    def __init__(
        self,
        prompts: Iterable[str | tuple[int, ...]],
        *,
        every: int = 100,
        k: int = DEFAULT_K,
        share: float = 0.02,
        tokenizer: Any = None,
        name: str = "",
        title: str = "",
        store: Store | str | Path | None = None,
        report: Callable[[Look, bytes], None] | None = None,
    ) -> None:
        if isinstance(prompts, str):
            prompts = [prompts]
        self._probes = Probes(tuple(prompts), View(k))
        if not self._probes.prompts or every < 1 or not 0 < share <= 1:
            raise InputError(
                "expected at least one prompt, every from 1 on, and share above 0 and at most 1: "
                f"{len(self._probes.prompts)} prompts, {every} and {share} came"
            )
        self.looks: list[Look] = []
        self.left_out: list[int] = []
        self._every, self._share, self._tokenizer = every, share, tokenizer
        shelf = as_store(store)
        self._title = title or name or "the model that trains"
        asked = self._probes.prompts
        self._run = Run(name, self._title, shelf, asked, k) if name else None
        self._reports: list[Report] = [report] if report else []
        self._budget: Budget | None = None
        self._losses: dict[int, float] = {}
        self._failed = self._told_lost = False

    def __repr__(self) -> str:
        n, looks = len(self._probes.prompts), len(self.looks)
        left_out = f", {counted(len(self.left_out), 'step')} left out" * bool(self.left_out)
        every = f"every {counted(self._every, 'step')}, {counted(looks, 'look')}"
        told = f"{counted(n, 'prompt')}, {every}{left_out}"
        return f"CouplingCallback({told})"

    def _table(self) -> Table:
        names = ("step", "loss", "coupling", "chance", "corrected", "alignment", "locality")
        rows = [one.to_dict() for one in self._by_step]
        columns = {name: [row[name] for row in rows] for name in names}
        columns["seconds"] = [at.seconds for at in self.looks]
        about = {"model": self._title, "prompts": len(self._probes.prompts)}
        return columns, about | {"K": self._probes.view.k, "every": self._every}

    @property
    def verdict(self) -> str:
        """Where the mean chance-corrected score began, ended and was highest."""
        known = [one for one in self._by_step if not math.isnan(one.corrected)]
        prompts = counted(len(self._probes.prompts), "prompt")
        if not known:
            return f"No score of {prompts} is measured yet."
        first, last, top = known[0], known[-1], max(known, key=attrgetter("corrected"))
        told = (
            f"The mean chance-corrected score over {prompts} at K = {self._probes.view.k} is "
            f"{rounded(first.corrected)} at step {first.step}"
        )
        if len(known) == 1:
            return f"{told}, the only one so far."
        return (
            f"{told} and {rounded(last.corrected)} at "
            f"step {last.step}; the highest is {rounded(top.corrected)}, at step {top.step}."
        )

    @property
    def _by_step(self) -> list[StepNumbers]:
        return [
            StepNumbers(at.step, {**at.by_step.values, "loss": self._losses.get(at.step, math.nan)})
            for at in self.looks
        ]

    def _given(self, figure: str) -> tuple[Any, ...]:
        if not self.looks:
            raise InputError("nothing is measured yet: after(...) or a trainer takes the looks")
        return {self._title: self._by_step}, figure, self._probes.view

    @property
    def _drawn_of(self) -> tuple[None, View]:
        return None, self._probes.view

    def after(self, step: int, model: Any, tokenizer: Any = None, *, last: bool = False) -> None:
        """Measure, if it is time to; for a loop of one's own, after each step of the optimiser.

        Args:
            step: how many were taken; 0 before the first.
            model: that trains.
            tokenizer: of it, where prompts are texts and none was given before.
            last: whether it is the end, which is measured in any case.
        """
        if self._budget is None:
            self._budget = Budget(self._share)
            if self._run is not None:
                self._run.begin(step)
        seen = bool(self.looks) and self.looks[-1].step == step
        due = last or step % self._every == 0
        if seen or not due or self._failed:
            return
        if not (last or self._budget.allows()):
            self._leave_out(step)
            return
        began = time.perf_counter()
        try:
            look = self._probes.look(model, self._tokenizer or tokenizer, step, self._run)
        except CouplingError as error:
            if isinstance(error, InputError) and not self.looks:
                raise  # at the beginning, when a mistake in what is asked loses no training
            self._failed = True
            _log.warning("coupling is not watched any longer: %s", error)
            return
        first = not self.looks
        if first and look.parts[0].n_blocks == 1:
            raise InputError("the model has one block, and coupling is of pairs of blocks")
        self.looks.append(look)
        told = f"{len(self._probes.prompts)} probes at step {step}"
        png = picture(look, self._probes.view, told) if self._reports else b""
        for tell in self._reports:
            tell(look, png)
        took = time.perf_counter() - began
        self._budget.spend(took)
        if first:
            _log.info(
                "a look at coupling takes %s; at most %.0f %% of the time are spent so",
                duration(took),
                100 * self._share,
            )

    def _leave_out(self, step: int) -> None:
        """Note a step that would take too much of the time; say so once."""
        if not self.left_out:
            _log.warning(
                "coupling is not measured at step %d: that would take more than %g %% of the time "
                "so far. `left_out` lists such steps; share=1 measures them all",
                step,
                100 * self._share,
            )
        self.left_out.append(step)

    def note_loss(self, step: int, loss: float) -> None:
        """Keep a held-out loss (nats a token) with the run, for its curve; for one's own loop.

        The curve has a place for each step that is measured; that another one's loss has none is
        logged once.
        """
        self._losses[step] = loss
        if self._run is None:
            return
        self._run.note_loss(step, loss)
        if not (self._run.has(step) or self._told_lost):
            self._told_lost = True
            _log.warning(
                "the held-out loss of step %d has no place in the run's curve, since that step is "
                "not measured: evaluate at steps that are, every %d",
                step,
                self._every,
            )

    # ---- what a Trainer calls; only the first of several processes looks

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Measure the model as it begins."""
        if state.is_world_process_zero:
            self._reports += reports(args.report_to, tensorboard_folder(args))
            self.after(state.global_step, given["model"], given.get("processing_class"))
            self._note(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Measure, if it is time to; at the end too, before those that are reported to close."""
        if state.is_world_process_zero:
            last = state.global_step >= state.max_steps or control.should_training_stop
            model, words = given["model"], given.get("processing_class")
            self.after(state.global_step, model, words, last=last)
            self._note(state)

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep the held-out loss with the run."""
        if state.is_world_process_zero and "eval_loss" in (found := given.get("metrics") or {}):
            self.note_loss(state.global_step, found["eval_loss"])

    def _note(self, state: Any) -> None:
        """Have the trainer's own history say what was measured."""
        if self.looks and self.looks[-1].step == state.global_step:
            look = self.looks[-1]
            named = {f"coupling/{name}": value for name, value in look.numbers.items()}
            if not any(one.get("coupling_step") == look.step for one in state.log_history[-8:]):
                state.log_history.append({"step": look.step, "coupling_step": look.step, **named})
