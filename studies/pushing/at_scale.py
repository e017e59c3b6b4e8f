"""One arm at any size, on one processor or many: what `accelerate launch` runs.

Options that `Pushed` does not have are those of transformers' `TrainingArguments`. So many
processes give the same as one whose batch, and whose `--sequences`, are so many times larger, to
rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)

from coupling_core.base.errors import InputError
from coupling_core.engine.penalty import CouplingPenalty, coupling_penalty
from coupling_core.experiments.own.plans import goal_of
from coupling_core.experiments.pretraining.batches import held_out
from coupling_core.experiments.watching.callback import CouplingCallback


@dataclass
class Pushed:
    """What is trained, and what is done to it.

    Args:
        model: an id of the hub or a folder, of which the config alone is read.
        tokens: a file of NumPy with the token ids that are learned, one after the other.
        held_out: the same of text that is not learned.
        name: of the training run as which the page Training shows it.
        revision: branch, tag or commit of a hub model.
        goal: "raise", "lower" or a value from -1 to 1; "" is the control.
        weight: of the penalty in the loss.
        refresh: steps after which the penalty follows the directions again.
        sequences: of each processor's batch, so many are pushed.
        context: tokens of a sequence.
        probes: held-out windows with which coupling is watched.
        every: steps after which it is.
    """

    model: str
    tokens: str
    held_out: str
    name: str
    revision: str = "main"
    goal: str = ""
    weight: float = 0.1
    refresh: int = 4
    sequences: int = 1
    context: int = 128
    probes: int = 8
    every: int = 100


class Windows(Dataset[dict[str, Tensor]]):
    """A text in windows that do not overlap.

    Args:
        ids: of the whole text.
        context: tokens of a window.
    """

    def __init__(self, ids: Integer[np.ndarray, " token"], context: int) -> None:
        self._ids, self._context = ids, context

    def __len__(self) -> int:
        return len(self._ids) // self._context

    def __getitem__(self, at: int) -> dict[str, Tensor]:
        start = at * self._context
        ids = torch.from_numpy(self._ids[start : start + self._context].astype(np.int64))
        return {"input_ids": ids, "labels": ids}


class PushingTrainer(Trainer):
    """A trainer whose loss is a batch's mean and, in training, the weighted penalty.

    Args:
        penalty: of the model; None is the control.
        weight: of it.
        more: what a `Trainer` takes.
    """

    def __init__(self, *, penalty: CouplingPenalty | None, weight: float, **more: Any) -> None:
        super().__init__(**more)
        self.model_accepts_loss_kwargs = False  # the loss is a mean: accumulated ones are averaged
        self._penalty, self._weight = penalty, weight

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The loss of a batch, and the penalty of the same pass."""
        outputs = model(**inputs)
        loss = outputs.loss
        if self._penalty is not None and model.training:
            loss = loss + self._weight * self._penalty()
        return (loss, outputs) if return_outputs else loss


def train(pushed: Pushed, arguments: TrainingArguments) -> PushingTrainer:
    """Train a freshly initialised model."""
    goal = goal_of(pushed.goal)
    learned, kept = (_ids(path) for path in (pushed.tokens, pushed.held_out))
    set_seed(arguments.seed)
    model: Any = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(pushed.model, revision=pushed.revision)
    )
    penalty = None
    if goal is not None:
        penalty = coupling_penalty(
            model,
            goal=goal,
            refresh=pushed.refresh,
            sequences=pushed.sequences,
            seed=arguments.seed,
        )
    probes = [tuple(row) for row in held_out(kept, pushed.context, pushed.probes).tolist()]
    trainer = PushingTrainer(
        penalty=penalty,
        weight=pushed.weight,
        model=model,
        args=arguments,
        train_dataset=Windows(learned, pushed.context),
        eval_dataset=Windows(kept, pushed.context),
        callbacks=[CouplingCallback(probes, every=pushed.every, name=pushed.name)],
    )
    trainer.train()
    return trainer


def _ids(path: str) -> Integer[np.ndarray, " token"]:
    found: Any = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(
            f"{path} has an array of shape {found.shape} and type {found.dtype}: expected one row "
            "of integers, the token ids of the whole text"
        )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Train as a command says."""
    asked: list[Any] = [Pushed, TrainingArguments]
    train(*HfArgumentParser(asked).parse_args_into_dataclasses(arguments))


if __name__ == "__main__":
    main()
