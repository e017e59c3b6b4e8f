"""What a model is trained with."""

from dataclasses import dataclass

from coupling_core.sources.suites import MINI_STEPS


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
