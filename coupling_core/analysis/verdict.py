"""Whether blocks are coupled, in words and numbers: a model beside its untrained twin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupling_core.analysis.scores import score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult

MIDDLE = tuple(range(9, 17))
"""The blocks of the paper's Figure 3, of which something is said where none are chosen."""
MOST, SOME = 0.9, 0.1
"""Shares of the pairs that score above every pair of the untrained twin: from the one on blocks are
called coupled, from the other on partly so."""


@dataclass(frozen=True)
class Verdict:
    """Means of the chance-corrected score over pairs l != l', and how many exceed the twin's.

    Args:
        blocks: whose pairs they are, 1..L.
        trained: mean of the trained model, without a unit; 0 is chance.
        untrained: mean of its untrained twin; NaN where that is not measured.
        above: pairs of the trained model that score above every pair of the twin.
        pairs: how many there are.
        prompts: means of the trained model over the same pairs, a number a prompt.
    """

    blocks: tuple[int, ...]
    trained: float
    untrained: float
    above: int
    pairs: int
    prompts: tuple[float, ...]

    def __str__(self) -> str:
        first, last = self.blocks[0], self.blocks[-1]
        is_range = self.blocks == tuple(range(first, last + 1))
        which = f"Blocks {first}-{last}" if is_range else f"{len(self.blocks)} blocks"
        told = f"{which}{self._words()}: {_number(self.trained)}"
        if not np.isnan(self.untrained):
            told += f"; untrained {_number(self.untrained)}"
        told += "; chance 0"
        if len(self.prompts) > 1:
            low, high = _number(min(self.prompts)), _number(max(self.prompts))
            told += f"; {len(self.prompts)} example prompts say {low} to {high}"
        return told + "."

    @property
    def reason(self) -> str:
        """Why they are called coupled, or not; "" without a twin."""
        if np.isnan(self.untrained):
            return ""
        return (
            f"{self.above} of these {self.pairs} pairs score above every pair of the untrained "
            f"twin. They are called coupled where {MOST:.0%} do, and partly coupled where "
            f"{SOME:.0%} do. An example is no evidence: take 40 prompts or more."
        )

    def _words(self) -> str:
        if np.isnan(self.untrained):
            return ""
        share = self.above / self.pairs
        return " are " + (
            "coupled" if share >= MOST else "partly coupled" if share >= SOME else "not coupled"
        )


def verdict(
    trained: DepthResult,
    untrained: DepthResult | None,
    view: View,
    examples: Sequence[DepthResult] = (),
) -> Verdict | None:
    """Compare a model's coupling with its untrained twin's.

    Args:
        trained: of one prompt.
        untrained: the twin, of the same prompt; None where it is not measured.
        view: K and definition; without blocks, those of the paper's Figure 3 are looked at, or all
            of a model that has fewer.
        examples: the trained model with several prompts.

    Returns:
        None where there is no pair of different blocks, or some are not measured.

    Raises:
        InputError: where K or a block is not in a result.
    """
    blocks = view.blocks or (MIDDLE if trained.n_blocks >= MIDDLE[-1] else None)
    of_trained = _pairs(trained, view, blocks)
    if not of_trained.size or np.isnan(of_trained).any():
        return None
    of_twin = _pairs(untrained, view, blocks) if untrained else np.array([np.nan])
    return Verdict(
        blocks=blocks or tuple(range(1, trained.n_blocks + 1)),
        trained=float(of_trained.mean()),
        untrained=float(of_twin.mean()),
        above=int((of_trained > of_twin.max()).sum()),
        pairs=of_trained.size,
        prompts=tuple(float(_pairs(one, view, blocks).mean()) for one in examples),
    )


def _pairs(result: DepthResult, view: View, blocks: tuple[int, ...] | None) -> np.ndarray:
    """The chance-corrected scores of all pairs l != l'."""
    found = score_pairs(result, View(view.k, view.definition, view.p, view.role, blocks)).corrected
    return found[~np.eye(len(found), dtype=bool)]


def _number(value: float) -> str:
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000")
