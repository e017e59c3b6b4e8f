"""All runs that are still missing, one after the other, and the page that tells them.

A run is a file, which is written when it has ended. Several of these commands may run side by side:
each takes runs that nobody has begun.
"""

import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from coupling_core.base.writing import replacing
from coupling_core.cli.terminal import say
from coupling_core.experiments.pushing import SEEDS, Outcomes, path_of
from studies.command import run
from studies.pretraining.corpus import corpus
from studies.pushing.language import language
from studies.pushing.outcomes import measure_outcomes
from studies.pushing.page import write
from studies.pushing.pictures import vision
from studies.pushing.plans import LANGUAGE, VISION, Arm
from studies.pushing.training import Task, train
from studies.vision.data import load_pictures


def pushing(
    of_vision: Annotated[
        bool, typer.Option("--vision", help="Of vision transformers, not language models.")
    ] = False,
) -> None:
    """Train and measure what is missing of the models that are pushed, and write the page."""
    study = VISION if of_vision else LANGUAGE
    paths = [path_of(study.folder, arm.name, seed) for seed in SEEDS for arm in study.arms]
    if not all(path.is_file() for path in paths):
        run_all(
            vision(load_pictures("fashion-mnist", 28, say)) if of_vision else language(corpus(say))
        )
    write(study)


def run_all(task: Task) -> None:
    """Train and measure what is missing; seed by seed, so that pairs are soon complete."""
    task.study.folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)  # runs side by side are faster than threads within one
    for seed in SEEDS:
        for arm in task.study.arms:
            path = path_of(task.study.folder, arm.name, seed)
            with _begun(path) as ours:
                if not ours or path.is_file():
                    continue
                began = time.perf_counter()
                _run(task, arm, seed, path)
                say(f"{arm.title}, seed {seed}: {time.perf_counter() - began:.0f} s")


def _run(task: Task, arm: Arm, seed: int, path: Path) -> None:
    """Train a model, measure it on the way, and write the file."""
    found: list[Outcomes] = []

    def look(step: int, model: Any) -> None:
        found.append(measure_outcomes(model, step, task.held_out))

    train(task, arm, seed, look)
    with replacing(path) as new, new.open("w", newline="") as file:
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


if __name__ == "__main__":
    run(pushing)
