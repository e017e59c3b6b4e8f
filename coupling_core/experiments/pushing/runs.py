"""What is kept of the runs: a table each, which is read without torch."""

import csv
from dataclasses import dataclass
from pathlib import Path

from coupling_core.experiments.pushing.plans import Arm, Study


@dataclass(frozen=True)
class Outcomes:
    """A model at one step.

    Args:
        step: of the optimiser.
        loss: held-out, in nats a token; of pictures, a picture.
        calibration: expected error of the probability that the model gives what it holds likeliest,
            0 to 1; 0 is a model that is right as often as it says.
        skipping: how many nats leaving one inner block out costs, in the mean over them.
        corrected: mean chance-corrected score of the pairs of blocks, K = 8.
        alignment: mean alignment of the same; 0 is chance.
        chance: mean floor of the uncorrected score.
        locality: corrected score of neighbours less that of all others.
        line_shape: mean line-shape score of the tokens' paths; 1 is straight.
    """

    step: int
    loss: float
    calibration: float
    skipping: float
    corrected: float
    alignment: float
    chance: float
    locality: float
    line_shape: float


@dataclass(frozen=True)
class OutcomesOfPictures(Outcomes):
    """A model of pictures at one step.

    Args:
        accuracy: held-out, as a part of 1.
    """

    accuracy: float


def path_of(study: Study, arm: Arm, seed: int) -> Path:
    """The file of a run."""
    return study.folder / f"{arm.name}-{seed}.csv"


def read_run(study: Study, arm: Arm, seed: int) -> list[Outcomes] | None:
    """What was measured of a run, by rising step; None where it has not ended."""
    path = path_of(study, arm, seed)
    if not path.is_file():
        return None
    with path.open(newline="") as file:
        return [
            (OutcomesOfPictures if "accuracy" in row else Outcomes)(
                int(row.pop("step")), **{name: float(x) for name, x in row.items()}
            )
            for row in csv.DictReader(file)
        ]
