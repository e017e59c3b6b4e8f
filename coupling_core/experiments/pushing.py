"""Does coupling make a model better? What became of small models that were pushed.

`studies/pushing` trains them, towards coupling and away from it; here is what is read of the runs
that ship. What is tested, and what is called a difference, was planned in `docs/preregistration.md`
and `docs/preregistration-vision.md`.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy import stats

from coupling_core.analysis.scores import LEVEL, Interval, mean_interval
from coupling_core.base.folders import SHIPPED

FOLDER = SHIPPED / "pushing"
"""Of the runs of language models, which ship."""
SEEDS = (1, 2, 3, 4, 5)
CONTROL = "control"
PUSHED = ("raise", "lower")
ARMS = (CONTROL, *PUSHED, "dropped", "longer")
TESTED: Mapping[str, str] = {
    "loss": "held-out loss (nats a token)",
    "calibration": "calibration error",
    "skipping": "loss of leaving a block out (nats a token)",
    "line_shape": "line-shape score",
}
"""What is tested of language models, in words."""
TOO_SMALL = 0.02
"""Nats: a difference in loss whose interval lies within it does not matter."""


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


Runs = Mapping[str, Mapping[int, Sequence[Outcomes]]]
"""What was measured, by arm and seed, by rising step."""


def path_of(folder: Path, arm: str, seed: int) -> Path:
    """The file of a run."""
    return folder / f"{arm}-{seed}.csv"


def read_runs(folder: Path = FOLDER) -> Runs:
    """All runs that have ended."""
    return {
        arm: {
            seed: read_run(path) for seed in SEEDS if (path := path_of(folder, arm, seed)).is_file()
        }
        for arm in ARMS
    }


def read_run(path: Path) -> list[Outcomes]:
    """What was measured of a run, by rising step."""
    with path.open(newline="") as file:
        return [
            (OutcomesOfPictures if "accuracy" in row else Outcomes)(
                int(row.pop("step")), **{name: float(x) for name, x in row.items()}
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True)
class Difference:
    """An arm less the control, over the seeds that both have.

    Args:
        arm: its name.
        outcome: of `Outcomes`.
        interval: of the mean difference, by Student's t.
        p: two-sided, of the paired t test.
        adjusted: the same after Holm's method over all that are tested together.
    """

    arm: str
    outcome: str
    interval: Interval
    p: float
    adjusted: float = np.nan

    @property
    def is_shown(self) -> bool:
        """Whether it is called a difference."""
        return self.adjusted < LEVEL

    @property
    def is_small(self) -> bool:
        """Whether it is one in loss that is too small to matter, whatever it is."""
        near = -TOO_SMALL < self.interval.low and self.interval.high < TOO_SMALL
        return self.outcome == "loss" and near


def difference(runs: Runs, arm: str, outcome: str, than: str = CONTROL) -> Difference:
    """How an arm differs from another after the last step, seed by seed."""
    seeds = sorted(runs[arm].keys() & runs[than].keys())
    values = last(runs, arm, outcome, seeds) - last(runs, than, outcome, seeds)
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    return Difference(arm, outcome, mean_interval(values), p)


def last(
    runs: Runs, arm: str, outcome: str, seeds: Sequence[int] | None = None
) -> Float[np.ndarray, " seed"]:
    """A number of every run of an arm after its last step."""
    return np.array([getattr(runs[arm][seed][-1], outcome) for seed in seeds or sorted(runs[arm])])


def holm(found: Sequence[Difference]) -> list[Difference]:
    """With p values that are corrected for being tested together (Holm 1979)."""
    order = sorted(range(len(found)), key=lambda at: found[at].p)
    adjusted, highest = [0.0] * len(found), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(found) - rank) * found[at].p))
        adjusted[at] = highest
    return [replace(one, adjusted=p) for one, p in zip(found, adjusted, strict=True)]


def planned(runs: Runs, tested: Mapping[str, str] = TESTED) -> list[Difference]:
    """The tests of the plan, in its order."""
    return holm([difference(runs, arm, outcome) for arm in PUSHED for outcome in tested])


def moved(runs: Runs) -> dict[str, bool]:
    """Whether coupling moved as it was told to, by arm."""
    up, down = (difference(runs, arm, "corrected").interval for arm in PUSHED)
    return {"raise": up.low > 0, "lower": down.high < 0}


def meaning(runs: Runs, tests: Sequence[Difference]) -> str:
    """Which of the answers that were foreseen it is."""
    came, loss = moved(runs), {one.arm: one for one in tests if one.outcome == "loss"}
    if not all(came.values()):
        return "The question has no answer for the arm whose coupling did not move."
    told = {arm: _fared(one) for arm, one in loss.items()}
    became = f"Raising coupling made these models {told['raise']}; lowering it {told['lower']}."
    if not all(one.is_shown or one.is_small for one in loss.values()):
        return f"{became} What coupling does for models of this size and training stays open."
    better, worse = told["raise"] == "better", told["lower"] == "worse"
    meaning = {
        (True, True): "In models of this size and training, coupling helps.",
        (True, False): "More of it helps here, and less of it is not missed.",
        (False, True): "They need some coupling, and more of it is of no use to them.",
        (False, False): "Coupling may go with good models without making them good.",
    }[better, worse]
    if told["raise"] == told["lower"] == "worse":
        meaning = (
            "So the penalty costs something whatever it pushes to, and the loss says little about "
            "coupling itself."
        )
    return f"{became} {meaning}"


def _fared(loss: Difference) -> str:
    """What became of the models of an arm."""
    if loss.is_shown:
        return "worse" if loss.interval.mean > 0 else "better"
    told = f"neither better nor worse, as far as {loss.interval.n} seeds tell"
    return told if loss.is_small else f"{told} (which leaves room for a difference that matters)"
