"""The training run itself: stopped at any moment, and gone on with from its last whole epoch."""

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64, UInt8

from coupling_core.base.errors import ComputeError
from coupling_core.engine.hardware import choose_device
from coupling_core.experiments.pretraining import batches, descent
from coupling_core.experiments.pretraining.run import MADE, STATE, Run, require_plan
from coupling_core.experiments.vision import ACCURACY
from studies.vision.model import Pixels, build, save_processor
from studies.vision.pictures import Pictures
from studies.vision.plans import VisionPlan

BETAS = (0.9, 0.999)
MAIN = "main"

_EVALUATED = 250  # images at a time
_LEARNED_SEEN = 10_000  # images that the accuracy on what is learned is of, at most


@dataclass(frozen=True)
class Row:
    """What is known of the end of an epoch.

    Args:
        epoch: epochs that are done.
        train: mean loss of the epoch's steps, in nats: of mixed images where they are, with blocks
            dropped; NaN before the first.
        held_out: loss on what is not learned; NaN where that was not looked at.
        accuracy: on what is not learned, as a part of 1; NaN likewise.
        learned_accuracy: on what is, with no blocks dropped; NaN likewise.
    """

    epoch: int
    train: float
    held_out: float
    accuracy: float
    learned_accuracy: float


Report = Callable[[Row], None]


def train(
    plan: VisionPlan,
    pictures: Pictures,
    repository: Path,
    report: Report = lambda _: None,
    device: str | None = None,
) -> None:
    """Train a run, or the rest of it, and keep its checkpoints as revisions of a repository.

    The same plan on the same device, number of threads and versions gives the same numbers.

    Args:
        plan: what to train.
        pictures: what it learns, all of them.
        repository: its folder; `accuracy.csv` and `recipe.json` lie there too.
        report: told of every epoch; an exception it raises ends the run, which can be gone on with.
        device: where to compute; None takes CUDA where there is one.

    Raises:
        ComputeError: where the loss is no number any more, or the folder holds a run of another
            plan or other images.
    """
    if is_finished(repository, plan):
        return
    run = _Run(plan, pictures.draw(plan.learned), repository, choose_device(device))
    run.to_its_end(lambda: report(run.rows[-1]))


def is_finished(repository: Path, plan: VisionPlan) -> bool:
    """Whether a folder has the whole run of a plan."""
    path = repository / MADE
    if not path.is_file():
        return False
    require_plan(repository, json.loads(path.read_text()).get("plan"), plan)
    return True


def epochs_done(repository: Path) -> int:
    """How many epochs of a run are saved."""
    path = repository / ACCURACY
    return max(0, len(path.read_text().splitlines()) - 2) if path.is_file() else 0


class _Run(Run):
    """A run under way, with the rows so far."""

    plan: VisionPlan

    def __init__(
        self, plan: VisionPlan, pictures: Pictures, repository: Path, device: torch.device
    ) -> None:
        model = build(plan, pictures.classes, pictures.channels).to(device)
        optimizer = descent.make_optimizer(model, plan.weight_decay, BETAS, fused=True)
        super().__init__(plan, repository, device, model, optimizer)
        self.pictures = pictures
        self.rows: list[Row] = []
        self.labels = torch.from_numpy(pictures.labels)
        self.pixels = Pixels(pictures, device)
        self.digest = pictures.digest()

    @property
    def epoch(self) -> int:
        """Epochs that are done."""
        return self.rows[-1].epoch

    @property
    def batch(self) -> int:
        """Images a step."""
        return min(self.plan.batch, len(self.labels))

    def _is_done(self) -> bool:
        return self.epoch >= self.plan.epochs

    def _begin(self) -> None:
        self.rows.append(self.look(0, float("nan")))
        self.keep()

    def _go_on(self, saved: dict[str, Any]) -> None:
        if saved["pictures"] != self.digest:
            raise ComputeError(
                f"the images of {self.plan.data} are others than those that the run in "
                f"{self.repository} began with: put them back, or remove that folder"
            )
        self.rows = [Row(*row) for row in saved["rows"]]

    def _advance(self) -> None:
        plan, steps = self.plan, len(self.labels) // self.batch
        order = batches.order(plan.seed, self.epoch, len(self.labels))
        losses = []
        for number in range(steps):
            step = self.epoch * steps + number
            chosen = order[number * self.batch : (number + 1) * self.batch]
            pixels = self.pixels(self.pictures.learned[chosen])
            targets = torch.nn.functional.one_hot(
                self.labels[chosen], len(self.pictures.classes)
            ).to(self.device, torch.float32)
            pixels, targets = mix(pixels, targets, plan, step)
            with descent.drawn(plan.seed, step, self.device):
                logits = self.model(pixel_values=pixels).logits
            loss = torch.nn.functional.cross_entropy(logits, targets)
            rate = descent.learning_rate(
                step, plan.learning_rate, plan.warmup * steps, plan.epochs * steps, last=0.0
            )
            losses.append(descent.descend(self.model, self.optimizer, loss, rate))
        self.rows.append(self.look(self.epoch + 1, float(np.mean(losses))))
        self.keep()

    def look(self, epoch: int, train: float) -> Row:
        """The row of an epoch; with accuracies at those that the plan says, and at the last."""
        if epoch % self.plan.evaluated_every and epoch != self.plan.epochs:
            return Row(epoch, train, *3 * [float("nan")])
        pictures, seen = self.pictures, slice(_LEARNED_SEEN)
        held_out = self.evaluate(pictures.held_out, pictures.held_out_labels)
        _, learned = self.evaluate(pictures.learned[seen], pictures.labels[seen])
        return Row(epoch, train, *held_out, learned)

    def evaluate(
        self,
        images: UInt8[np.ndarray, "image height width channel"],
        labels: Int64[np.ndarray, " image"],
    ) -> tuple[float, float]:
        """Loss in nats, and accuracy."""
        self.model.eval()
        with torch.inference_mode():
            parts = range(0, len(images), _EVALUATED)
            pixels = (self.pixels(images[at : at + _EVALUATED]) for at in parts)
            logits = torch.cat([self.model(pixel_values=part).logits.cpu() for part in pixels])
        self.model.train()
        wanted = torch.from_numpy(labels)
        loss = torch.nn.functional.cross_entropy(logits, wanted)
        return float(loss), float((logits.argmax(1) == wanted).double().mean())

    def keep(self) -> None:
        """Write what the epoch came to, and what the run can be gone on with."""
        if self.epoch in self.plan.checkpoints:
            self.checkpoint(f"epoch{self.epoch}")
        rows = ((row.epoch, *map(_text, astuple(row)[1:])) for row in self.rows)
        self.write_table(ACCURACY, [field.name for field in fields(Row)], rows)
        self.save(pictures=self.digest, rows=[astuple(row) for row in self.rows])

    def checkpoint(self, revision: str) -> None:
        """Keep the model as it is now."""
        self.write_checkpoint(revision, partial(save_processor, self.pictures))

    def _finish(self) -> None:
        self.checkpoint(MAIN)
        self.write_made(learned=len(self.pictures.learned), held_out=len(self.pictures.held_out))
        (self.repository / STATE).unlink()


def mix(
    pixels: Float32[torch.Tensor, "image channel height width"],
    targets: Float32[torch.Tensor, "image label"],
    plan: VisionPlan,
    step: int,
) -> tuple[Float[torch.Tensor, "image channel height width"], Float[torch.Tensor, "image label"]]:
    """Mix each image and its target with those from the other end of the batch (mixup).

    One part of the first is drawn for the whole batch from Beta(alpha, alpha); seed and step tell
    it.
    """
    if not plan.mixup:
        return pixels, targets
    part = float(np.random.default_rng((plan.seed, step, 1)).beta(plan.mixup, plan.mixup))
    return (
        part * pixels + (1 - part) * pixels.flip(0),
        part * targets + (1 - part) * targets.flip(0),
    )


def _text(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.5f}"
