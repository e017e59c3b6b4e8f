"""The runs: five arms from five seeds, which differ from the control of their seed in one thing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coupling_core.base.folders import SHIPPED
from coupling_core.base.records import Goal
from coupling_core.experiments.pushing import ARMS, FOLDER, SEEDS, TESTED

REFRESH = 4
"""Steps after which the penalty follows the directions again."""


@dataclass(frozen=True)
class Arm:
    """What is done to a run.

    Args:
        name: a word.
        title: in words.
        steps: of the optimiser.
        goal: of the penalty; None has none.
        weight: of the penalty in the loss.
        drop_path: probability with which a sequence skips the last block (stochastic depth).
    """

    name: str
    title: str
    steps: int
    goal: Goal | None = None
    weight: float = 0.0
    drop_path: float = 0.0


@dataclass(frozen=True)
class Study:
    """The runs of one kind of model.

    Args:
        kind: of model, in words.
        arms: the control first.
        looks: parts of a run after which a model is measured.
        folder: that the runs are kept in.
        plan: the document that was written before them.
        page: the document that they make.
        tested: what is tested of the arms that are pushed, with its words.
        title: the models, in words.
        data: that they learn, in words.
        example: what the penalty takes one token of.
        learning: how long they learn, in words.
        command: what makes the runs.
    """

    kind: str
    arms: tuple[Arm, ...]
    looks: tuple[float, ...]
    folder: Path
    plan: str
    page: str
    tested: Mapping[str, str]
    title: str
    data: str
    example: str
    learning: str
    command: str

    @property
    def planned(self) -> int:
        """Runs."""
        return len(self.arms) * len(SEEDS)

    def steps(self, arm: Arm) -> tuple[int, ...]:
        """The steps after which an arm is measured, rising; the run ends at the last."""
        return tuple(round(part * arm.steps) for part in self.looks)


def _arms(steps: int, longer: int, raised: float, lowered: float) -> tuple[Arm, ...]:
    """All five, with the weights of the penalty that a pilot chose."""
    control, up, down, dropped, more = ARMS
    return (
        Arm(control, "control", steps),
        Arm(up, "coupling raised", steps, goal="raise", weight=raised),
        Arm(down, "coupling lowered", steps, goal="lower", weight=lowered),
        Arm(dropped, "stochastic depth", steps, drop_path=0.3),
        Arm(more, "control of equal compute", longer),
    )


_COMMAND = "python -m studies.pushing"
LANGUAGE = Study(
    kind="model",
    arms=_arms(steps=600, longer=1440, raised=0.1, lowered=1.0),
    looks=(0.25, 0.5, 1.0),
    folder=FOLDER,
    plan="preregistration.md",
    page="pushing.md",
    tested=TESTED,
    title="Small language models",
    data="text",
    example="sequence",
    learning="minutes",
    command=_COMMAND,
)
VISION = Study(
    kind="vision transformer",
    arms=_arms(steps=400, longer=960, raised=0.03, lowered=0.3),
    looks=(1.0,),
    folder=SHIPPED / "pushing-vision",
    plan="preregistration-vision.md",
    page="pushing-vision.md",
    tested={
        "loss": "held-out loss (nats a picture)",
        "accuracy": "held-out accuracy (part of 1)",
        "calibration": TESTED["calibration"],
        "skipping": "loss of leaving a block out (nats a picture)",
        "line_shape": TESTED["line_shape"],
    },
    title="Small vision transformers",
    data="pictures",
    example="picture",
    learning="half a minute",
    command=f"{_COMMAND} --vision",
)
