"""A training run that can be stopped at any moment, of language or of images."""

import csv
import json
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from coupling_core.base.errors import ComputeError
from coupling_core.base.writing import replacing
from coupling_core.engine.hardware import device_name, versions
from coupling_core.engine.loading.words import quiet
from coupling_core.sources.integrity import record

STATE = "run.pt"
MADE = "recipe.json"


@dataclass
class Run(ABC):
    """A run under way.

    Args:
        plan: what to train.
        repository: the folder that it is kept in, and gone on with from: a repository of the hub's
            cache, whose revisions are its checkpoints.
        device: where to compute.
        model: as it begins.
        optimizer: of the model.
    """

    plan: Any
    repository: Path
    device: torch.device
    model: PreTrainedModel
    optimizer: torch.optim.Optimizer

    def __post_init__(self) -> None:
        self._began = time.perf_counter()

    def to_its_end(self, report: Callable[[], None]) -> None:
        """Train what is left, and keep it.

        The report is called before the first step and after each; what it raises ends the run,
        which can be gone on with.
        """
        self.repository.mkdir(parents=True, exist_ok=True)
        if (self.repository / STATE).is_file():
            saved = torch.load(self.repository / STATE, map_location=self.device, weights_only=True)
            require_plan(self.repository, json.loads(saved["plan"]), self.plan)
            self._go_on(saved)
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self._began -= saved["seconds"]
        else:
            self._begin()
        report()
        while not self._is_done():
            self._advance()
            report()
        self._finish()

    @abstractmethod
    def _is_done(self) -> bool: ...

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _go_on(self, saved: dict[str, Any]) -> None: ...

    @abstractmethod
    def _advance(self) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...

    def save(self, **state: Any) -> None:
        """Write what the run can be gone on with, whole or not at all."""
        state |= {
            "plan": json.dumps(asdict(self.plan)),
            "seconds": self._seconds(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        with replacing(self.repository / STATE) as new:
            torch.save(state, new)

    def write_checkpoint(self, revision: str, save_rest: Callable[[Path], object]) -> None:
        """Keep the model as it is now as a revision of a repository of the hub's cache.

        Weights in half precision, the config, and what else is saved into the folder that is given.
        """
        snapshots = self.repository / "snapshots"
        snapshots.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.repository) as name:
            folder = Path(name) / "files"
            with quiet():
                deepcopy(self.model).half().save_pretrained(folder)
                save_rest(folder)
            commit = record(self.repository, folder)
            shutil.rmtree(snapshots / commit, ignore_errors=True)
            folder.rename(snapshots / commit)
        ref = self.repository / "refs" / revision
        ref.parent.mkdir(exist_ok=True)
        ref.write_text(commit)

    def write_table(self, name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        """Write a CSV file into the folder, whole or not at all."""
        with replacing(self.repository / name) as new, new.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            table.writerows(rows)

    def write_made(self, **more: Any) -> None:
        """Note how the run, which has ended, was made."""
        made = {
            "plan": asdict(self.plan),
            **more,
            "seconds": round(self._seconds()),
            "device": device_name(self.device),
            "threads": torch.get_num_threads(),
            "versions": versions(),
        }
        with replacing(self.repository / MADE) as new:
            new.write_text(json.dumps(made, indent=1) + "\n")

    def _seconds(self) -> float:
        """Since the run began, without the time in which it was stopped."""
        return time.perf_counter() - self._began


def require_plan(repository: Path, found: Any, plan: Any) -> None:
    """Refuse to go on with the run of another plan, as JSON, which has lists for its tuples."""
    if found != json.loads(json.dumps(asdict(plan))):
        raise ComputeError(
            f"{repository} holds a run of another recipe: remove the folder, or finish "
            "that run with the version that began it"
        )
