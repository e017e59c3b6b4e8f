"""The training run itself: stopped at any moment, and gone on with from where it was last saved."""

import csv
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from coupling_core.errors import ComputeError
from coupling_core.hardware import choose_device, device_name, versions
from coupling_core.recipe import batches
from coupling_core.recipe.corpus import Corpus
from coupling_core.recipe.layout import write_checkpoint
from coupling_core.recipe.model import build
from coupling_core.recipe.plans import Plan
from coupling_core.suites import revision

CLIP = 1.0
"""Largest norm of a gradient."""

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


def train(
    plan: Plan, corpus: Corpus, repository: Path, report: Report, device: str | None = None
) -> None:
    """Train a suite, or the rest of it, and keep its checkpoints as revisions of a repository.

    The same plan on the same device, number of threads and versions gives the same losses.

    Args:
        plan: what to train.
        corpus: what it learns.
        repository: its folder; `losses.csv` and `recipe.json` lie there too.
        report: told of every step; an exception it raises ends the run, which can be gone on with.
        device: where to compute; None takes CUDA where there is one.

    Raises:
        ComputeError: where the loss is no number any more.
    """
    run = _Run(plan, corpus, repository, choose_device(device))
    run.resume()
    report(run.trained())
    while run.step < plan.steps[-1]:
        run.advance()
        if run.step in plan.steps:
            run.checkpoint()
        if run.step in plan.steps or run.step % SAVED_EVERY == 0:
            run.save()
        report(run.trained())
    run.finish()


@dataclass
class _Run:
    """A run under way: model, optimiser, and the losses so far."""

    plan: Plan
    corpus: Corpus
    repository: Path
    device: torch.device
    step: int = 0
    seconds: float = 0.0
    losses: list[tuple[int, float, float | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = build(self.plan).to(self.device)
        groups: list[dict[str, Any]] = [
            {"params": [p for p in self.model.parameters() if p.ndim == 2]},
            {"params": [p for p in self.model.parameters() if p.ndim != 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=BETAS, weight_decay=self.plan.weight_decay)
        self._began = time.perf_counter(), 0

    def resume(self) -> None:
        """Go on from what was saved, or begin."""
        self.repository.mkdir(parents=True, exist_ok=True)
        if not self._state.is_file():
            self.checkpoint()
            self.save()
            return
        saved = torch.load(self._state, map_location=self.device, weights_only=True)
        if saved["plan"] != self._plan_text():
            raise ComputeError(
                f"{self.repository} holds a run of another recipe: remove the folder, or finish "
                "that run with the version that began it"
            )
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.step, self.losses, self.seconds = saved["step"], saved["losses"], saved["seconds"]
        self._began = time.perf_counter(), self.step

    def advance(self) -> None:
        """Learn from the next batch."""
        plan = self.plan
        ids = batches.batch(self.corpus.learned, self.step, plan.batch, plan.context, plan.seed)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(plan, self.step)
        ids = ids.to(self.device)
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(plan.seed * 10**6 + self.step)  # which blocks are dropped
            loss = self._loss(ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ComputeError(
                f"the loss of {plan.name} is {value} at step {self.step}: its learning rate "
                f"{plan.learning_rate} is too high for this device"
            )
        self.losses.append((self.step, value, None))

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
        write_checkpoint(self.repository, self.model, self.corpus.tokenizer, revision(self.step))

    def save(self) -> None:
        """Write what the run can be gone on with, whole or not at all."""
        with (self.repository / "losses.csv").open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(_COLUMNS)
            rows.writerows(
                (s, f"{a:.5f}", "" if b is None else f"{b:.5f}") for s, a, b in self.losses
            )
        state = {
            "plan": self._plan_text(),
            "step": self.step,
            "seconds": self._seconds(),
            "losses": self.losses,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        new = self._state.with_suffix(".new")
        torch.save(state, new)
        new.replace(self._state)

    def finish(self) -> None:
        """Note how the suite was made, and make the last step its main branch."""
        last = (self.repository / "refs" / revision(self.step)).read_text()
        (self.repository / "refs" / "main").write_text(last)
        made = {
            "plan": asdict(self.plan),
            "tokens": self.step * self.plan.tokens_a_step,
            "seconds": round(self._seconds()),
            "device": device_name(self.device),
            "threads": torch.get_num_threads(),
            "versions": versions(),
        }
        (self.repository / "recipe.json").write_text(json.dumps(made, indent=1) + "\n")

    def trained(self) -> Trained:
        """Where it stands."""
        began, step = self._began
        done = (self.step - step) * self.plan.tokens_a_step
        return Trained(
            self.step,
            self.plan.steps[-1],
            self.losses[-1][1],
            next(held_out for _, _, held_out in reversed(self.losses) if held_out is not None),
            done / (time.perf_counter() - began),
        )

    @property
    def _state(self) -> Path:
        return self.repository / "run.pt"

    def _plan_text(self) -> str:
        return json.dumps(asdict(self.plan))

    def _seconds(self) -> float:
        return self.seconds + time.perf_counter() - self._began[0]

    def _loss(self, ids: torch.Tensor) -> Any:
        return self.model(input_ids=ids, labels=ids, use_cache=False).loss


def learning_rate(plan: Plan, step: int) -> float:
    """The rate of a step, numbered from 0."""
    if step < plan.warmup:
        return plan.learning_rate * (step + 1) / plan.warmup
    done = (step - plan.warmup) / (plan.steps[-1] - plan.warmup)
    fall = (1 + math.cos(math.pi * done)) / 2
    return plan.learning_rate * (_LAST_RATE + (1 - _LAST_RATE) * fall)
