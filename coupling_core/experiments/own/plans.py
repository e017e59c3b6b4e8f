"""What may be chosen of a model that somebody trains for themselves."""

from dataclasses import dataclass

from coupling_core.base.errors import InputError, refuse
from coupling_core.base.records import Goal
from coupling_core.base.units import counted
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.experiments.watching.run import require_name
from coupling_core.sources import hub
from coupling_core.sources.suites import suites

STEPS = (0, 5, 10, 20, 50, 100, 200, 300, 400, 500)
"""Those that are kept: most happens early. Large models learn for fewer of them."""
LONGEST = 110.0
"""Processor seconds that a run may take with a penalty: a minute and a half on two cores."""
_BEFORE, _OF_BLOCK, _OF_WIDTH, _OF_PENALTY = 0.028, 0.0030, 1.8e-6, 1.9
"""Processor seconds of a step, of each block of it and of the square of the width, and how many
times that with a penalty: read off runs of 2 to 12 blocks of width 32 to 128, on one thread of an
AMD EPYC with AVX-512."""
BLOCKS = range(2, 13)
WIDTHS = (32, 64, 96, 128)
"""Whose heads, of which there are four, turn pairs of their directions by the position."""
RATES = 1e-4, 1e-2
DROPPED = 0.5
"""Highest probability with which the last block is left out."""


@dataclass(frozen=True)
class OwnPlan:
    """A run that somebody asks for.

    Args:
        name: of the suite that it becomes: small letters, digits, dots and hyphens.
        blocks: L, 2 to 12.
        width: d of the residual stream: 32, 64, 96 or 128.
        learning_rate: the highest, 0.0001 to 0.01.
        drop_path: probability with which a sequence skips the last block, 0 to 0.5; it rises
            linearly from 0 at the first (stochastic depth).
        goal: of a penalty on coupling; None has none.
        weight: of the penalty in the loss.
        seed: of all that is drawn.

    Raises:
        InputError: where a number lies outside, or the name cannot be one.
    """

    name: str
    blocks: int = 6
    width: int = 64
    learning_rate: float = 3e-3
    drop_path: float = 0.0
    goal: Goal | None = None
    weight: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require_name(self.name)
        low, high = RATES
        right = {
            f"blocks must be {BLOCKS[0]} to {BLOCKS[-1]}, not {self.blocks}": self.blocks in BLOCKS,
            f"width must be one of {', '.join(map(str, WIDTHS))}, not {self.width}": self.width
            in WIDTHS,
            f"the learning rate must be {low} to {high}, not {self.learning_rate}": low
            <= self.learning_rate
            <= high,
            f"blocks are left out with a probability of 0 to {DROPPED}, not {self.drop_path}": 0
            <= self.drop_path
            <= DROPPED,
            f"the penalty's weight must be above 0 and at most 10, not {self.weight}": 0
            < self.weight
            <= 10,
            f"the seed must be 0 to 1000, not {self.seed}": 0 <= self.seed <= 1000,
        }
        refuse(*((not is_right, words) for words, is_right in right.items()))

    @property
    def steps(self) -> tuple[int, ...]:
        """Those that are kept, as many as fit; whatever the goal, so that runs compare."""
        most = LONGEST / (_OF_PENALTY * self._of_a_step)
        return tuple(step for step in STEPS if step <= max(most, STEPS[1]))

    @property
    def seconds(self) -> float:
        """Processor seconds that the run will take, about."""
        times = 1.0 if self.goal is None else _OF_PENALTY
        return times * self._of_a_step * self.steps[-1]

    @property
    def _of_a_step(self) -> float:
        return _BEFORE + self.blocks * (_OF_BLOCK + _OF_WIDTH * self.width**2)

    @property
    def repo(self) -> str:
        """What `--model` takes."""
        return f"{hub.cache.OWNER}/{self.name}"

    @property
    def title(self) -> str:
        """What it is, in words."""
        parts = [f"{counted(self.blocks, 'block')} of width {self.width}"]
        if self.learning_rate != OwnPlan.learning_rate:
            parts.append(f"learning rate {self.learning_rate:g}")
        if self.drop_path:
            parts.append(f"stochastic depth {self.drop_path:g}")
        if self.goal is not None:
            told = {"raise": "raised", "lower": "lowered"}.get(str(self.goal))
            parts.append(f"coupling {told or f'held at {self.goal:g}'}")
        if self.seed:
            parts.append(f"seed {self.seed}")
        return f"{self.name}: {', '.join(parts)}"

    def require_free(self) -> None:
        """Refuse a name that is taken."""
        if self.name in suites() or hub.cache.trained_here(self.repo).exists():
            raise InputError(
                f"there is a training run called {self.name!r} already: choose another name"
            )

    def recipe(self) -> Plan:
        """How it is trained: as the mini-Pythias are, on shorter sequences and for less long."""
        return Plan(
            self.name,
            self.width,
            self.learning_rate,
            seed=self.seed,
            drop_path=self.drop_path,
            blocks=self.blocks,
            steps=self.steps,
            batch=16,
            context=64,
        )


def goal_of(text: str) -> Goal | None:
    """What a command says of the goal.

    Raises:
        InputError: where it is no word that is known, and no number.
    """
    words: dict[str, Goal] = {"raise": "raise", "lower": "lower"}
    if text in words:
        return words[text]
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError(
            f"the goal is 'raise', 'lower', a value from -1 to 1 or left out, and not {text!r}"
        ) from None
