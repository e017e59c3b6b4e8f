"""Whether blocks are coupled, in words and numbers: a model beside its untrained twin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coupling_core.analysis.over_prompts import OfPrompt, mean_scores
from coupling_core.analysis.scores import Interval, known_interval, score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult
from coupling_core.base.units import percent, rounded

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
        over: where each pair's score is a mean over many prompts, how sure `trained` is.
    """

    blocks: tuple[int, ...]
    trained: float
    untrained: float
    above: int
    pairs: int
    prompts: tuple[float, ...] = ()
    over: Interval | None = None

    def __str__(self) -> str:
        is_range = "-" in self.range_text
        which = f"Blocks {self.range_text}" if is_range else f"{len(self.blocks)} blocks"
        told = f"{which}{self._words()}: {rounded(self.trained)}"
        if self.over:
            told += f" over {self.over.n} prompts"
            if self.over.n > 1:
                told += f" (95 %: {rounded(self.over.low)} to {rounded(self.over.high)})"
        else:
            told += " with this prompt"
        if not np.isnan(self.untrained):
            told += f"; untrained {rounded(self.untrained)}"
        return told + "; chance 0." + self._examples()

    @property
    def range_text(self) -> str:
        """The blocks as they are typed: 9-16, or 3,7,9 where some between are missing."""
        first, last = self.blocks[0], self.blocks[-1]
        is_range = self.blocks == tuple(range(first, last + 1))
        return f"{first}-{last}" if is_range else ",".join(map(str, self.blocks))

    @property
    def reason(self) -> str:
        """Why they are called coupled, or not; "" without a twin."""
        if np.isnan(self.untrained):
            return ""
        mean = ", in the mean over the prompts," if self.over else ""
        told = (
            f"{self.above} of these {self.pairs} pairs score{mean} above every pair of the "
            f"untrained twin. Blocks are called coupled where at least {percent(MOST)} of their "
            f"pairs do, and partly coupled where at least {percent(SOME)} do."
        )
        return told if self.over else told + " One prompt is an example, and no evidence."

    def _examples(self) -> str:
        """What each prompt gives: a lowest and a highest number would look like an interval."""
        if len(self.prompts) < 2:
            return ""
        *most, last = map(rounded, self.prompts)
        return f" Each example prompt by itself gives {', '.join(most)} and {last}."

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


def verdict_over(trained: Sequence[OfPrompt], untrained: Sequence[OfPrompt]) -> Verdict | None:
    """The same of the means over many prompts, in the view in which they were kept.

    Args:
        trained: of each prompt, of one model.
        untrained: of its untrained twin, of the same prompts.

    Returns:
        None where there is no pair of different blocks, or some are not measured.
    """
    of_trained, of_twin = (
        _different(mean_scores([one.scores for one in of]).corrected) for of in (trained, untrained)
    )
    if not of_trained.size or np.isnan(of_trained).any():
        return None
    return Verdict(
        blocks=tuple(trained[0].scores.blocks),
        trained=float(of_trained.mean()),
        untrained=float(of_twin.mean()),
        above=int((of_trained > of_twin.max()).sum()),
        pairs=of_trained.size,
        over=known_interval(np.array([one.mean(corrected=True) for one in trained])),
    )


def _pairs(result: DepthResult, view: View, blocks: tuple[int, ...] | None) -> np.ndarray:
    """The chance-corrected scores of all pairs l != l'."""
    looked = View(view.k, view.definition, view.p, view.role, blocks)
    return _different(score_pairs(result, looked).corrected)


def _different(scores: np.ndarray) -> np.ndarray:
    """Those of pairs l != l'."""
    return scores[~np.eye(len(scores), dtype=bool)]
