"""The vision transformers that come with the program: one architecture, several rates and seeds."""

import csv
from dataclasses import dataclass
from typing import Any

from coupling_core.sources import hub

ACCURACY = "accuracy.csv"
"""In a run's repository: a row an epoch."""


def repo_name(name: str, rate: float, seed: int) -> str:
    """The repository of a run."""
    return f"{hub.cache.OWNER}/{name}-rate{rate:g}-seed{seed}"


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

    def noted(self) -> dict[str, Any]:
        """It, and what this disk has of it: accuracies, None where not recorded; the weights?"""
        accuracies = {"accuracy": self.accuracy(), "learned_accuracy": self.learned_accuracy()}
        return vars(self) | accuracies | {"weights": self.here()}

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
        learned: how many images.
        learned_words: what was learned, in words.
        side: patches along an edge of an image.
        rates: rising.
        seeds: each rate has all of them.
    """

    name: str
    title: str
    learned: int
    learned_words: str
    side: int
    rates: tuple[float, ...]
    seeds: tuple[int, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """What its models make of a picture: the class token, then the patches row by row."""
        side = range(1, self.side + 1)
        return ("class", *(f"patch {row},{column}" for row in side for column in side))

    @property
    def runs(self) -> tuple[VisionRun, ...]:
        """All of them: rates first, then seeds."""
        return tuple(
            VisionRun(repo_name(self.name, rate, seed), rate, seed)
            for rate in self.rates
            for seed in self.seeds
        )


SUITE = VisionSuite(
    "vit-fashion",
    "ViT on Fashion-MNIST, by rate of stochastic depth",
    2000,
    "2,000 images of Fashion-MNIST",
    4,
    (0.0, 0.1, 0.2, 0.4),
    (0, 1, 2),
)
"""What comes with the program; `python -m studies.vision --preset fashion` makes it anew."""
