"""All runs that are still missing, one after the other.

    python -m coupling_core.experiments.pushing.running

A run is a file of `cache/pushing`, which is written when it has ended. Several of these commands
may run side by side: each takes runs that nobody has begun.
"""

import csv
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from coupling_core.base.folders import SHIPPED
from coupling_core.base.writing import replacing
from coupling_core.experiments.pretraining.corpus import Corpus, corpus
from coupling_core.experiments.pushing.outcomes import Outcomes, measure_outcomes
from coupling_core.experiments.pushing.plans import ARMS, SEEDS, Arm
from coupling_core.experiments.pushing.training import train

FOLDER = SHIPPED / "pushing"


def path_of(arm: Arm, seed: int) -> Path:
    """The file of a run."""
    return FOLDER / f"{arm.name}-{seed}.csv"


def read_run(arm: Arm, seed: int) -> list[Outcomes] | None:
    """What was measured of a run, by rising step; None where it has not ended."""
    if not path_of(arm, seed).is_file():
        return None
    with path_of(arm, seed).open(newline="") as file:
        return [
            Outcomes(int(row.pop("step")), **{name: float(x) for name, x in row.items()})
            for row in csv.DictReader(file)
        ]


def run(arm: Arm, seed: int, text: Corpus) -> None:
    """Train a model, measure it on the way, and write the file.

    Raises:
        ComputeError: where the loss is no number any more.
    """
    found: list[Outcomes] = []

    def look(step: int, model: Any) -> None:
        found.append(measure_outcomes(model, step, text.held_out))

    train(arm, seed, text, look)
    with replacing(path_of(arm, seed)) as new, new.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(field.name for field in fields(Outcomes))
        for one in found:
            table.writerow([f"{value:.6g}" for value in asdict(one).values()])


@contextmanager
def _begun(arm: Arm, seed: int) -> Iterator[bool]:
    """Whether a run is ours: nobody else has begun it."""
    mark = path_of(arm, seed).with_suffix(".begun")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        mark.unlink()


def main(say: Callable[[str], None]) -> None:
    """Train and measure what is missing; seed by seed, so that pairs are soon complete."""
    FOLDER.mkdir(exist_ok=True)
    torch.set_num_threads(1)  # runs side by side are faster than threads within one
    text = corpus(say)
    for seed in SEEDS:
        for arm in ARMS:
            with _begun(arm, seed) as ours:
                if not ours or path_of(arm, seed).is_file():
                    continue
                began = time.perf_counter()
                run(arm, seed, text)
                say(f"{arm.title}, seed {seed}: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(print)
