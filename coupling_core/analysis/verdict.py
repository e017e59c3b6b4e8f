"""Whether blocks are coupled, in words and numbers: a model beside its untrained twin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coupling_core.analysis.over_prompts import OfPrompt, mean_scores
from coupling_core.analysis.scores import Interval, known_interval, score_pairs
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.units import counted, percent, rounded

MIDDLE = tuple(range(9, 17))
"""The blocks of the paper's Figure 3, of which something is said where none are chosen."""
MOST, SOME = 0.9, 0.1
"""Shares of the pairs that score above every pair of the untrained twin: from the one on blocks are
called coupled, from the other on partly so."""


def range_text(blocks: Sequence[int]) -> str:
    """Blocks as they are typed: 9-16, or 3,7,9 where some between are missing."""
    first, last = blocks[0], blocks[-1]
    is_range = tuple(blocks) == tuple(range(first, last + 1))
    return f"{first}-{last}" if is_range else ",".join(map(str, blocks))


class RawMean(NamedTuple):
    """A mean of the raw score c over pairs l != l', which means nothing without its floor.

    Args:
        coupling: of c, without a unit.
        chance: of its chance floor, over the same pairs.
    """

    coupling: float
    chance: float

    def __str__(self) -> str:
        return f"{rounded(self.coupling)} where chance gives {rounded(self.chance)}"


@dataclass(frozen=True)
class RawMeans:
    """The raw scores that a verdict tells in place of the chance-corrected ones.

    Args:
        trained: of the trained model.
        untrained: of its untrained twin; None where that is not measured.
        prompts: of the trained model with several prompts.
        over: how sure c of the trained model is, where it is a mean over many prompts.
    """

    trained: RawMean
    untrained: RawMean | None
    prompts: tuple[RawMean, ...] = ()
    over: Interval | None = None


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
        raw: the raw scores, where they are told; whether blocks are coupled is judged without
            them, for two models differ in their floors.
    """

    blocks: tuple[int, ...]
    trained: float
    untrained: float
    above: int
    pairs: int
    prompts: tuple[float, ...] = ()
    over: Interval | None = None
    raw: RawMeans | None = None

    def __str__(self) -> str:
        is_range = "-" in self.range_text
        which = f"Blocks {self.range_text}" if is_range else counted(len(self.blocks), "block")
        return f"{which}{self._words()}: {self._raw(self.raw) if self.raw else self._corrected()}"

    def _corrected(self) -> str:
        """The means of the chance-corrected score."""
        told = rounded(self.trained) + _of_prompts(self.over)
        if not np.isnan(self.untrained):
            told += f"; untrained {rounded(self.untrained)}"
        return told + "; chance 0." + _examples([rounded(one) for one in self.prompts])

    def _raw(self, of: RawMeans) -> str:
        """The means of the raw score, each with its floor."""
        told = f"c = {rounded(of.trained.coupling)}{_of_prompts(of.over)}, where chance gives "
        told += rounded(of.trained.chance)
        if of.untrained:
            told += f"; untrained {of.untrained}"
        return told + "." + _examples([str(one) for one in of.prompts])

    @property
    def range_text(self) -> str:
        """The blocks as they are typed."""
        return range_text(self.blocks)

    @property
    def reason(self) -> str:
        """Why they are called coupled, or not; "" without a twin."""
        if np.isnan(self.untrained):
            return ""
        how = ["corrected for chance"] * bool(self.raw)
        how += ["in the mean over the prompts"] * bool(self.over)
        said = f", {' and '.join(how)}" if how else ""
        told = (
            f"Of the {counted(self.pairs, 'pair')} of these blocks, each in both orders, "
            f"{self.above} score "
            f"higher than any of these pairs does in the untrained twin{said}. Blocks are called "
            f"coupled where at least {percent(MOST)} of their pairs do, and partly coupled where "
            f"at least {percent(SOME)} do."
        )
        return told if self.over else told + " One prompt is an example, and no evidence."

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
    *,
    corrected: bool = True,
) -> Verdict | None:
    """Compare a model's coupling with its untrained twin's.

    Args:
        trained: of one prompt.
        untrained: the twin, of the same prompt; None where it is not measured.
        view: K and definition; without blocks, those of the paper's Figure 3 are looked at, or all
            of a model that has fewer.
        examples: the trained model with several prompts.
        corrected: whether chance-corrected scores are told; else raw ones with their floors.

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
        raw=None if corrected else _raw_means(trained, untrained, examples, view, blocks),
    )


def verdict_over(
    trained: Sequence[OfPrompt], untrained: Sequence[OfPrompt], *, corrected: bool = True
) -> Verdict | None:
    """The same of the means over many prompts, in the view in which they were kept.

    Args:
        trained: of each prompt, of one model.
        untrained: of its untrained twin, of the same prompts.
        corrected: as of `verdict`.

    Returns:
        None where there is no pair of different blocks, or some are not measured.
    """
    own, other = (mean_scores([one.scores for one in of]) for of in (trained, untrained))
    of_trained, of_twin = _different(own.corrected), _different(other.corrected)
    if not of_trained.size or np.isnan(of_trained).any():
        return None
    return Verdict(
        blocks=tuple(trained[0].scores.blocks),
        trained=float(of_trained.mean()),
        untrained=float(of_twin.mean()),
        above=int((of_trained > of_twin.max()).sum()),
        pairs=of_trained.size,
        over=_interval(trained, corrected=True),
        raw=None
        if corrected
        else RawMeans(_raw_mean(own), _raw_mean(other), over=_interval(trained, corrected=False)),
    )


def _raw_means(
    trained: DepthResult,
    untrained: DepthResult | None,
    examples: Sequence[DepthResult],
    view: View,
    blocks: tuple[int, ...] | None,
) -> RawMeans:
    """The raw scores and their floors, over the same pairs."""
    own, twin, *prompts = (
        _raw_mean(_scores(one, view, blocks)) if one else None
        for one in (trained, untrained, *examples)
    )
    assert own is not None
    return RawMeans(own, twin, tuple(one for one in prompts if one))


def _raw_mean(found: Scores) -> RawMean:
    mean = found.mean()
    return RawMean(mean.coupling, mean.chance)


def _interval(of: Sequence[OfPrompt], *, corrected: bool) -> Interval:
    """How sure the mean over the prompts is."""
    return known_interval(np.array([one.mean(corrected=corrected) for one in of]))


def _scores(result: DepthResult, view: View, blocks: tuple[int, ...] | None) -> Scores:
    return score_pairs(result, View(view.k, view.definition, view.p, view.role, blocks))


def _pairs(result: DepthResult, view: View, blocks: tuple[int, ...] | None) -> np.ndarray:
    """The chance-corrected scores of all pairs l != l'."""
    return _different(_scores(result, view, blocks).corrected)


def _different(scores: np.ndarray) -> np.ndarray:
    """Those of pairs l != l'."""
    return scores[~np.eye(len(scores), dtype=bool)]


def _of_prompts(over: Interval | None) -> str:
    """Over how many prompts a mean is, and how sure it is; None is the one that is looked at."""
    if over is None:
        return " with this prompt"
    told = f" over {counted(over.n, 'prompt')}"
    if over.n > 1:
        told += f" (95\u00a0%: {rounded(over.low)} to {rounded(over.high)})"
    return told


def _examples(told: list[str]) -> str:
    """What each prompt gives: a lowest and a highest number would look like an interval."""
    if len(told) < 2:
        return ""
    *most, last = told
    return f" Each example prompt by itself gives {', '.join(most)} and {last}."
