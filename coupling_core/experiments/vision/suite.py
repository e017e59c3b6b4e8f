"""The vision transformers that come with the program: one architecture, several rates and seeds."""

import csv
from dataclasses import dataclass

from coupling_core.experiments.vision.plans import PRESETS, TITLES, repo_name
from coupling_core.sources import hub

ACCURACY = "accuracy.csv"
"""In a run's repository: a row an epoch."""


@dataclass(frozen=True)
class VisionRun:
    """One run of a suite.

    Args:
        repo: its repository: `main` is the end of training.
        rate: of stochastic depth.
        seed: of all that was drawn.
    """

    repo: str
    rate: float
    seed: int

    def here(self) -> bool:
        """Whether its weights are on this disk."""
        return "main" in hub.cache.names(self.repo)

    def accuracy(self) -> float | None:
        """Of the end of training, on what was held out; None where that was not recorded."""
        return self._last("accuracy")

    def learned_accuracy(self) -> float | None:
        """The same, on what was learned."""
        return self._last("learned_accuracy")

    def _last(self, column: str) -> float | None:
        path = hub.cache.repository(self.repo) / ACCURACY
        if not path.is_file():
            return None
        with path.open(newline="") as file:
            known = [row[column] for row in csv.DictReader(file) if row[column]]
        return float(known[-1]) if known else None


@dataclass(frozen=True)
class VisionSuite:
    """Runs that differ in the rate of stochastic depth, and in the seed.

    Args:
        name: as people ask for it.
        title: what it is, in words.
        data: what was learned.
        preset: what `coupling vision train --preset` takes to make it.
        rates: rising.
        seeds: each rate has all of them.
    """

    name: str
    title: str
    data: str
    preset: str
    rates: tuple[float, ...]
    seeds: tuple[int, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """What its models make of a picture: the class token, then the patches row by row."""
        plan = PRESETS[self.preset].plan
        side = range(1, plan.size // plan.patch + 1)
        return ("class", *(f"patch {row},{column}" for row in side for column in side))

    @property
    def learned_words(self) -> str:
        """What was learned, in words."""
        count = PRESETS[self.preset].plan.learned
        called = TITLES.get(self.data, self.data)
        return f"{count:,} images of {called}" if count else called

    @property
    def runs(self) -> tuple[VisionRun, ...]:
        """All of them: rates first, then seeds."""
        return tuple(
            VisionRun(repo_name(self.name, rate, seed), rate, seed)
            for rate in self.rates
            for seed in self.seeds
        )


_PRESET = "fashion"
_MADE = PRESETS[_PRESET]
SUITE = VisionSuite(
    _MADE.plan.name,
    "ViT on Fashion-MNIST, by rate of stochastic depth",
    _MADE.plan.data,
    _PRESET,
    _MADE.rates,
    _MADE.seeds,
)
"""What comes with the program; `coupling vision train --preset fashion` makes it anew."""
