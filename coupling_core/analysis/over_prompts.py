"""One model over many prompts: what of each is kept, and the means over all of them.

    mean over prompts of        of each pair l != l', for the map and the graph;
                                of each prompt's mean over its pairs, for the interval

A prompt counts once, however long it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coupling_core.analysis.graph import scores_graph
from coupling_core.analysis.scores import MIN_PROMPTS, Interval, definition_name, score_pairs
from coupling_core.base.records import DEFAULT_THRESHOLD, View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.units import counted, ranges, rounded
from coupling_core.sources.tokens import visible

if TYPE_CHECKING:  # a tenth of a second to import
    import networkx as nx

LEAST, ALIKE = 3, 0.75
"""From so many prompts on, and from this share of them that end alike, it is said that they do."""


class TokenMeasured(NamedTuple):
    """The token of a prompt at which its blocks were measured.

    Args:
        text: of the token, as it is shown.
        number: which one it is, 1..n.
        n: tokens of the prompt.
        asked: which was asked for: -1 is the last.
    """

    text: str
    number: int
    n: int
    asked: int = -1


@dataclass(frozen=True, eq=False)
class OfPrompt:
    """What is kept of one prompt's result: of many, results fill the memory.

    Args:
        scores: in one view.
        n_blocks: L of the model.
        model: what to call it.
        final_norm: whether a final norm belongs to its last block, in words.
        certified: whether every SVD passed its certificate.
        key: of the result.
        at: the token that was measured.
    """

    scores: Scores
    n_blocks: int
    model: str
    final_norm: str
    certified: bool
    key: str
    at: TokenMeasured

    def mean(self, *, corrected: bool) -> float:
        """Mean score over its pairs l != l', without a unit; NaN where it has none."""
        found = self.scores.mean()
        return found.corrected if corrected else found.coupling


def of_prompt(result: DepthResult, view: View) -> OfPrompt:
    """What is kept of a result.

    Args:
        result: of one prompt.
        view: K, definition, p, role and blocks.

    Raises:
        InputError: where K or a block is not in the result.
    """
    return OfPrompt(
        replace(score_pairs(result, view), result=None),
        result.n_blocks,
        result.model_name,
        result.final_norm_words,
        result.certified,
        result.key,
        token_measured(result),
    )


def mean_scores(found: Sequence[Scores]) -> Scores:
    """Raw score, chance floor and corrected score of each pair, as means over the prompts.

    The mean of corrected scores is not what the mean of raw scores corrects to: each prompt has a
    floor of its own. A pair that has no score in one prompt has none here.

    Args:
        found: of one model in one view, a prompt each.
    """
    means = {name: np.mean([getattr(one, name) for one in found], axis=0) for name in MEASURES}
    return Scores(**means, blocks=found[0].blocks, view=found[0].view)


def mean_graph(
    parts: Sequence[OfPrompt], *, corrected: bool = True, threshold: float = DEFAULT_THRESHOLD
) -> "nx.Graph[int]":
    """The layer graph of the mean scores over many prompts.

    Args:
        parts: of one model in one view, a prompt each.
        corrected: weigh by the mean chance-corrected score, else by the mean c.
        threshold: smallest weight of an edge, 0..1.

    Raises:
        InputError: where the threshold is out of range.
    """
    found = mean_scores([part.scores for part in parts])
    about: dict[str, str | float] = {"model": parts[0].model, "prompts": len(parts)}
    about |= {"K": found.view.k if found.view else 0, "final_norm": parts[0].final_norm}
    return scores_graph(found, parts[0].n_blocks, about, corrected=corrected, threshold=threshold)


def whose(parts: Sequence[OfPrompt], listed: str) -> str:
    """Which model, over which prompts, as a phrase.

    Args:
        parts: of one model.
        listed: what the list of prompts is called.
    """
    return f"{parts[0].model}, mean over {counted(len(parts), 'prompt')} of {listed}"


def source(parts: Sequence[OfPrompt], listed: str, view: View) -> str:
    """Where the means come from, in one line, for files."""
    certified, blocks = sum(part.certified for part in parts), parts[0].scores.blocks
    told = [
        whose(parts, listed),
        f"K = {view.k}",
        definition_name(view),
        *([f"blocks {ranges(blocks)}"] if len(blocks) < parts[0].n_blocks else []),
        token_words([part.at for part in parts]),
        parts[0].final_norm,
        f"SVDs of {certified} of {counted(len(parts), 'prompt')} certified",
    ]
    return " · ".join(told)


def interval_words(over: Interval, *, digits: int = 3) -> str:
    """A mean over prompts with its interval: 0.055 (95 % interval 0.053 to 0.057)."""
    mean = rounded(over.mean, digits)
    if over.n < 2:
        return f"{mean} (no interval: there is one prompt)"
    return (
        f"{mean} (95\u00a0% interval {rounded(over.low, digits)} to {rounded(over.high, digits)})"
    )


def spread_words(numbers: Mapping[int, float], *, of: str = "", digits: int = 3) -> str:
    """Which prompts are lowest and highest, by their numbers in the list.

    Args:
        numbers: by the prompts' numbers, from 1.
        of: whose they are, where the sentence before is about another model.
        digits: decimals.
    """
    known = {place: one for place, one in numbers.items() if np.isfinite(one)}
    if len(known) < 2:
        return ""
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    whose = f" {of}" if of else ""
    return (
        f"The lowest{whose} is prompt {low} with {rounded(known[low], digits)}, the highest prompt "
        f"{high} with {rounded(known[high], digits)}."
    )


def token_measured(result: DepthResult) -> TokenMeasured:
    """Which token of a prompt a result of one token is of."""
    text = visible(result.tokens[result.token - 1])
    return TokenMeasured(text, result.token, len(result.tokens), result.request.token)


def token_words(of: Sequence[TokenMeasured]) -> str:
    """At which token prompts are measured, and whether that is nearly always the same one.

    Coupling goes with the token: with prompts that all end alike, an interval over prompts tells
    nothing of other endings.

    Args:
        of: a prompt each.
    """
    told = f"{_place(of)} of each prompt"
    text, n = Counter(one.text for one in of).most_common(1)[0]
    if len(of) < LEAST or n < ALIKE * len(of):
        return told
    which = f"all {n}" if n == len(of) else f"{n} of the {len(of)}"
    return f"{told}, which is “{text}” in {which}: other tokens can have other numbers"


def _place(of: Sequence[TokenMeasured]) -> str:
    """The place of the tokens, from the end where that is the same in all, else from the front."""
    from_end, numbers = {one.n - one.number for one in of}, {one.number for one in of}
    if from_end == {0} and not all(one.asked > 0 for one in of):
        return "the last token"
    if len(numbers) == 1:
        return f"token {numbers.pop()}"
    return (
        f"token {-1 - from_end.pop()}, counted from the end," if len(from_end) == 1 else "one token"
    )


def few_words(n: int, *, of_coupling: bool = True) -> str:
    """What is to be said of few prompts; "" where there are enough.

    Args:
        n: prompts.
        of_coupling: whether their mean is of coupling, which a few can overstate.
    """
    if n >= MIN_PROMPTS:
        return ""
    here = f"here there {'is' if n == 1 else 'are'} {n}: no claim about the model rests on so few."
    if of_coupling:
        return f"The mean of fewer than {MIN_PROMPTS} prompts can overstate coupling, and {here}"
    return f"A claim about the model needs {MIN_PROMPTS} prompts, and {here}"
