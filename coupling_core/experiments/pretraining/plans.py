"""What each suite is trained with."""

from dataclasses import dataclass, replace

from coupling_core.base.choosing import require_one_of
from coupling_core.sources.suites import MINI_STEPS, SEEDS, seeded


@dataclass(frozen=True)
class Plan:
    """A training run.

    AdamW with the rate rising over `warmup` steps, then falling along a cosine to a tenth.

    Args:
        name: of the suite.
        width: d of the residual stream.
        learning_rate: the highest.
        seed: of initialisation, order of the text, and dropped blocks.
        drop_path: probability with which a sequence skips the last block; it rises linearly from 0
            at the first (stochastic depth).
        blocks: L.
        heads: of attention.
        steps: after which checkpoints are kept, rising; the run ends at the last.
        batch: sequences a step.
        context: tokens a sequence.
        warmup: steps.
        weight_decay: of matrices; norms and biases have none.
    """

    name: str
    width: int
    learning_rate: float
    seed: int = 0
    drop_path: float = 0.0
    blocks: int = 8
    heads: int = 4
    steps: tuple[int, ...] = MINI_STEPS
    batch: int = 8
    context: int = 256
    warmup: int = 40
    weight_decay: float = 0.01

    @property
    def tokens_a_step(self) -> int:
        """How many tokens a step learns from."""
        return self.batch * self.context


_OF_SEED_0 = (
    Plan("mini-64", 64, 3e-3),
    Plan("mini-64-sd", 64, 3e-3, drop_path=0.3),
    Plan("mini-128", 128, 2e-3),
)
PLANS = {
    name: replace(first, name=name, seed=seed)
    for seed in SEEDS
    for first in _OF_SEED_0
    for name in [seeded(first.name, seed)]
}
"""By the name of the suite."""


def find_plan(name: str) -> Plan:
    """The plan of a suite."""
    require_one_of("a suite with a recipe", name, PLANS)
    return PLANS[name]
