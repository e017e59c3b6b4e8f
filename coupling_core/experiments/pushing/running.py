"""All runs that are still missing, one after the other.

    python -m coupling_core.experiments.pushing.running
    python -m coupling_core.experiments.pushing.running --vision

A run is a file of `cache/pushing`, or of `cache/pushing-vision`, which is written when it has
ended. Several of these commands may run side by side: each takes runs that nobody has begun.
"""

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from coupling_core.base.writing import replacing
from coupling_core.experiments.pretraining.corpus import corpus
from coupling_core.experiments.pushing.language import language
from coupling_core.experiments.pushing.outcomes import measure_outcomes
from coupling_core.experiments.pushing.pictures import vision
from coupling_core.experiments.pushing.plans import SEEDS, Arm
from coupling_core.experiments.pushing.runs import Outcomes, path_of
from coupling_core.experiments.pushing.tasks import Task
from coupling_core.experiments.pushing.training import train
from coupling_core.experiments.vision.data import load_pictures


def run(task: Task, arm: Arm, seed: int) -> None:
    """Train a model, measure it on the way, and write the file."""
    found: list[Outcomes] = []

    def look(step: int, model: Any) -> None:
        found.append(measure_outcomes(model, step, task.held_out))

    train(task, arm, seed, look)
    with replacing(path_of(task.study, arm, seed)) as new, new.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(field.name for field in fields(task.held_out.record))
        for one in found:
            table.writerow([f"{value:.6g}" for value in asdict(one).values()])


@contextmanager
def _begun(path: Path) -> Iterator[bool]:
    """Whether a run is ours: nobody else has begun it."""
    mark = path.with_suffix(".begun")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        mark.unlink()


def run_all(task: Task, say: Callable[[str], None]) -> None:
    """Train and measure what is missing; seed by seed, so that pairs are soon complete."""
    task.study.folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)  # runs side by side are faster than threads within one
    for seed in SEEDS:
        for arm in task.study.arms:
            path = path_of(task.study, arm, seed)
            with _begun(path) as ours:
                if not ours or path.is_file():
                    continue
                began = time.perf_counter()
                run(task, arm, seed)
                say(f"{arm.title}, seed {seed}: {time.perf_counter() - began:.0f} s")


def main(say: Callable[[str], None], arguments: Sequence[str] | None = None) -> None:
    """Make the runs that a command asks for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--vision", action="store_true", help="of vision transformers")
    if parser.parse_args(arguments).vision:
        run_all(vision(load_pictures("fashion-mnist", 28, say)), say)
    else:
        run_all(language(corpus(say)), say)


if __name__ == "__main__":
    main(print)
