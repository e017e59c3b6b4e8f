"""Worlds whose truth is planted, for the sentences that are formed from numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coupling_core.analysis.statistics import ModelMeans

SCORED = (2, 6, 3, 4, 2, 2, 3, 1, 2, 3, 2, 1, 1, 2, 2)
"""Models with a leaderboard score of each family in `sweeps/models.csv`."""
DIFFICULTY = (1, 3, 1, 1, 3, 4)
"""Models of each family in `sweeps/difficulty.toml`."""
UNEVEN = (1, 1, 2, 2, 3, 4, 6, 8)
LEAST = (3, 3, 3, 3, 3)
FEW = (3, 3, 3)
ALONE = (1,) * 20
STEPS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 3000, 4000], float)
LOSSES = np.array([7.2, 7.1, 7.0, 6.9, 6.7, 6.4, 5.9, 5.2, 4.6, 4.3, 4.0, 3.6, 3.3, 3.2, 3.1])
"""About those of Mini-Pythia."""
RATES = np.array([0.0, 0.1, 0.2, 0.4])
Draw = np.random.Generator


@dataclass(frozen=True)
class Models:
    """How coupling, performance and size come about."""

    r: float = 0.0  # correlation of both, between families and within
    shared: float = 0.0  # part of the variance of each that a family's members have in common
    slope: float = 0.0  # of both on the size, against each other
    size_shared: float = 0.5  # part of the variance of size between families
    own_slopes: bool = False  # whether each family has a relation of its own, of either sign
    curved: bool = False  # whether performance is the square of coupling

    def draw(self, rng: Draw, sizes: Sequence[int]) -> ModelMeans:
        """The models of families of these sizes."""
        family = np.repeat(np.arange(len(sizes)), sizes)
        x, y = (_mixed(rng, family, self.shared) for _ in range(2))
        y = self.r * x + np.sqrt(1 - self.r**2) * y
        size = _mixed(rng, family, self.size_shared)
        if self.own_slopes:
            y = rng.normal(size=len(sizes))[family] * x + 0.3 * y
        if self.curved:
            y = x**2 + 0.3 * y
        models = [f"m{i}" for i in range(len(family))]
        columns = {
            "model": models,
            "family": [f"F{number}" for number in family],
            "parameters": 10 ** (9 + 0.1 * size),
            **dict.fromkeys(("layers", "width", "training_tokens"), np.nan),
            "coupling": x + self.slope * size,
            "loss": 9 + y - self.slope * size,
            "run": models,
        }
        return ModelMeans("corrected", 8, pd.DataFrame(columns))


def _mixed(rng: Draw, family: np.ndarray, shared: float) -> np.ndarray:
    own = rng.normal(size=family.max() + 1)[family]
    return np.sqrt(shared) * own + np.sqrt(1 - shared) * rng.normal(size=len(family))


@dataclass(frozen=True)
class Course:
    """Coupling of a training run by checkpoint and prompt."""

    mean: np.ndarray  # by checkpoint
    checkpoints: float = 0.0  # scatter of each checkpoint, for all prompts alike
    prompts: float = 0.0  # scatter of each prompt at each checkpoint
    drift: float = 0.0  # how far the slopes of single prompts scatter over the run

    def draw(self, rng: Draw, prompts: int = 12) -> np.ndarray:
        """(prompt, step)."""
        n = len(self.mean)
        found = self.mean + self.checkpoints * rng.normal(size=n)
        slopes = self.drift * rng.normal(size=(prompts, 1)) * np.linspace(0, 1, n)
        return found + slopes + self.prompts * rng.normal(size=(prompts, n))


FLAT = np.full(15, 0.1)
PLATEAU = 0.15 * np.clip(np.arange(15) / 8, 0, 1)
PEAK = np.array(
    [0, 0, 0, 0.001, 0.005, 0.023, 0.086, 0.124, 0.135, 0.132, 0.104, 0.074, 0.053, 0.047, 0.043]
)
"""That of Mini-Pythia, width 64."""
STRAIGHT = 0.3 - 0.04 * LOSSES


@dataclass(frozen=True)
class Runs:
    """A number of runs of every rate of stochastic depth and every seed."""

    mean: Callable[[np.ndarray], np.ndarray]  # by rate
    seed: float = 1.0  # scatter of what a seed does at every rate
    scatter: Sequence[float] = (1.0, 1.0, 1.0, 1.0)  # of single runs, by rate
    seeds: int = 3

    def draw(self, rng: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rate, seed and number of each run."""
        rate, seed = np.repeat(RATES, self.seeds), np.tile(np.arange(self.seeds), len(RATES))
        own = self.seed * rng.normal(size=self.seeds)
        scatter = np.repeat(self.scatter, self.seeds) * rng.normal(size=len(rate))
        return rate, seed.astype(float), self.mean(rate) + own[seed] + scatter


def no_effect(rate: np.ndarray) -> np.ndarray:
    """The rate does nothing."""
    return np.zeros(len(rate))


def line(rate: np.ndarray) -> np.ndarray:
    """It raises the number by five times the scatter of a run."""
    return 12.5 * rate


def middle(rate: np.ndarray) -> np.ndarray:
    """So it does at the middle rates alone."""
    return 5.0 * np.isin(rate, (0.1, 0.2))


def saturating(rate: np.ndarray) -> np.ndarray:
    """It raises it, and ever less."""
    return 8 * (1 - np.exp(-rate / 0.05))


def prompts_table(rng: Draw, n: int, rho: float, models: int) -> pd.DataFrame:
    """Models whose coupling goes with the length of n prompts, on which they agree in part."""
    length, common = rng.normal(size=(2, n))
    rows = []
    for model in range(models):
        error = np.sqrt(0.5) * (common + rng.normal(size=n))
        columns = {
            "model": f"m{model}",
            "family": "F",
            "prompt": [f"p{i}" for i in range(n)],
            "k": 8,
            "width": 64.0,
            "tokens": length,
            "corrected": rho * length + np.sqrt(1 - rho**2) * error,
        }
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)
