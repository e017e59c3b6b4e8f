"""The training run itself: stopped at any moment, and gone on with from where it was last saved."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from coupling_core.engine.hardware import choose_device
from coupling_core.experiments.pretraining import batches, descent
from coupling_core.experiments.pretraining.corpus import END_OF_TEXT, Corpus
from coupling_core.experiments.pretraining.model import build
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.experiments.pretraining.run import Run
from coupling_core.sources.suites import revision

BETAS = (0.9, 0.95)
SAVED_EVERY = 100
"""Steps after which the run is saved, apart from the checkpoints."""

_LAST_RATE = 0.1
_COLUMNS = ("step", "train", "held_out")
_EVALUATED = 16  # sequences at a time


@dataclass(frozen=True)
class Trained:
    """Where a run stands.

    Args:
        step: steps that are done.
        steps: of them in all.
        loss: of the last one, in nats a token.
        held_out: of the last checkpoint, on text that is not learned.
        tokens_per_second: since the run began or was gone on with.
    """

    step: int
    steps: int
    loss: float
    held_out: float
    tokens_per_second: float


Report = Callable[[Trained], None]
Look = Callable[[int, Any], None]
"""Told of a step and of the model as it is then, which it leaves as it is."""
Added = Callable[[], torch.Tensor]
"""What is added to the loss of the forward pass that was just made."""


def train(
    plan: Plan,
    corpus: Corpus,
    repository: Path,
    report: Report,
    device: str | None = None,
    *,
    look: Look = lambda step, model: None,
    added: Callable[[Any], Added | None] = lambda model: None,
) -> None:
    """Train a suite, or the rest of it, and keep its checkpoints as revisions of a repository.

    The same plan on the same device, number of threads and versions gives the same losses.

    Args:
        plan: what to train.
        corpus: what it learns.
        repository: its folder; `losses.csv` and `recipe.json` lie there too.
        report: told of every step; an exception it raises ends the run, which can be gone on with.
        device: where to compute; None takes CUDA where there is one.
        look: called at each checkpoint.
        added: makes of the model what is added to its loss; None adds nothing. The losses that are
            told and kept are without it.

    Raises:
        ComputeError: where the folder has a run of another plan, or the loss is no number any more.
    """
    run = _Run(plan, corpus, repository, choose_device(device), look, added)
    run.to_its_end(lambda: report(run.trained()))


class _Run(Run):
    """A run under way, with the losses so far."""

    plan: Plan

    def __init__(
        self,
        plan: Plan,
        corpus: Corpus,
        repository: Path,
        device: torch.device,
        look: Look,
        added: Callable[[Any], Added | None],
    ) -> None:
        model = build(plan).to(device)
        optimizer = descent.make_optimizer(model, plan.weight_decay, BETAS)
        super().__init__(plan, repository, device, model, optimizer)
        self.corpus = corpus
        self._look, self._added = look, added(model)
        self.step = 0
        self.losses: list[tuple[int, float, float | None]] = []
        self._here = time.perf_counter(), 0

    def _is_done(self) -> bool:
        return self.step >= self.plan.steps[-1]

    def _begin(self) -> None:
        self.checkpoint()
        self.keep()

    def _go_on(self, saved: dict[str, Any]) -> None:
        self.step, self.losses = saved["step"], saved["losses"]
        self._here = time.perf_counter(), self.step

    def _advance(self) -> None:
        plan = self.plan
        ids = batches.batch(self.corpus.learned, self.step, plan.batch, plan.context, plan.seed)
        with descent.drawn(plan.seed, self.step, self.device):
            loss = self._loss(ids.to(self.device))
            value = float(loss.detach())
            if self._added is not None:
                loss = loss + self._added()
        descent.descend(self.model, self.optimizer, loss, learning_rate(plan, self.step))
        self.step += 1
        self.losses.append((self.step, value, None))
        if self.step in plan.steps:
            self.checkpoint()
        if self.step in plan.steps or self.step % SAVED_EVERY == 0:
            self.keep()

    def checkpoint(self) -> None:
        """Keep the model as it is now, with its loss on the held-out text."""
        self.model.eval()
        with torch.inference_mode():
            windows = batches.held_out(self.corpus.held_out, self.plan.context)
            losses = [self._loss(part.to(self.device)) for part in windows.split(_EVALUATED)]
        self.model.train()
        held_out = float(torch.stack(losses).mean())
        train = self.losses.pop()[1] if self.losses else held_out
        self.losses.append((self.step, train, held_out))
        self.write_checkpoint(revision(self.step), self._save_tokenizer)
        self._look(self.step, self.model)

    def keep(self) -> None:
        """Write the losses, and what the run can be gone on with."""
        rows = ((s, f"{a:.5f}", "" if b is None else f"{b:.5f}") for s, a, b in self.losses)
        self.write_table("losses.csv", _COLUMNS, rows)
        self.save(step=self.step, losses=self.losses)

    def _finish(self) -> None:
        last = (self.repository / "refs" / revision(self.step)).read_text()
        (self.repository / "refs" / "main").write_text(last)
        self.write_made(tokens=self.step * self.plan.tokens_a_step)

    def trained(self) -> Trained:
        """Where it stands."""
        began, step = self._here
        done = (self.step - step) * self.plan.tokens_a_step
        return Trained(
            self.step,
            self.plan.steps[-1],
            self.losses[-1][1],
            next(held_out for _, _, held_out in reversed(self.losses) if held_out is not None),
            done / (time.perf_counter() - began),
        )

    def _save_tokenizer(self, folder: Path) -> None:
        ends = {"bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT}
        made = PreTrainedTokenizerFast(tokenizer_file=str(self.corpus.tokenizer), **ends)
        made.save_pretrained(folder)

    def _loss(self, ids: torch.Tensor) -> Any:
        return self.model(input_ids=ids, labels=ids, use_cache=False).loss


def learning_rate(plan: Plan, step: int) -> float:
    """The rate of a step, numbered from 0."""
    return descent.learning_rate(
        step, plan.learning_rate, plan.warmup, plan.steps[-1], last=_LAST_RATE
    )
