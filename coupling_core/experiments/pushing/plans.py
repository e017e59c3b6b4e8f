"""The runs: five arms from five seeds, which differ from the control of their seed in one thing."""

from dataclasses import dataclass, replace

from coupling_core.base.records import Goal
from coupling_core.experiments.pretraining.plans import PLANS, Plan
from coupling_core.sources.suites import DEFAULT_SUITE

SEEDS = (1, 2, 3, 4, 5)
STEPS = 600
CONTEXT = 128
LOOKS = (0.25, 0.5, 1.0)
"""Parts of a run after which a model is measured."""
REFRESH = 4
"""Steps after which the penalty follows the directions again."""


@dataclass(frozen=True)
class Arm:
    """What is done to a run.

    Args:
        name: a word.
        title: in words.
        goal: of the penalty; None has none.
        weight: of the penalty in the loss.
        drop_path: probability with which a sequence skips the last block (stochastic depth).
        steps: of the optimiser.
    """

    name: str
    title: str
    goal: Goal | None = None
    weight: float = 0.0
    drop_path: float = 0.0
    steps: int = STEPS

    def plan(self, seed: int) -> Plan:
        """How the run of a seed is trained: mini-64 in short, on sequences half as long."""
        kept = tuple(round(part * self.steps) for part in LOOKS)
        return replace(
            PLANS[DEFAULT_SUITE], name=f"{self.name}-{seed}", seed=seed, drop_path=self.drop_path,
            context=CONTEXT, steps=kept,
        )  # fmt: skip


CONTROL = Arm("control", "control")
ARMS = (
    CONTROL,
    Arm("raise", "coupling raised", goal="raise", weight=0.1),
    Arm("lower", "coupling lowered", goal="lower", weight=1.0),
    Arm("dropped", "stochastic depth", drop_path=0.3),
    Arm("longer", "control of equal compute", steps=1440),
)
