"""One model over many prompts: what of each is kept, and the means over all of them.

    mean over prompts of        of each pair l != l', for the map and the graph;
                                of each prompt's mean over its pairs, for the interval

A prompt counts once, however long it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coupling_core.analysis.graph import scores_graph
from coupling_core.analysis.scores import MIN_PROMPTS, Interval, definition_name, score_pairs
from coupling_core.base.records import DEFAULT_THRESHOLD, View
from coupling_core.base.results import DepthResult, Scores
from coupling_core.base.results.scores import MEASURES
from coupling_core.base.units import counted, ranges, rounded
from coupling_core.base.wording import sentences
from coupling_core.sources.tokens import visible

if TYPE_CHECKING:  # a tenth of a second to import
    import networkx as nx

LEAST, ALIKE = 3, 0.75
"""From so many prompts on, and from this share of them that end alike, `token_words` says so."""


@dataclass(frozen=True, eq=False)
class OfPrompt:
    """What is kept of one prompt's result in one view: many results would fill the memory.

    `final_norm` says in words whether a final norm belongs to the last block, `text` is that of the
    token measured, and `asked` the number that was asked for, from 1 or from the end.
    """

    scores: Scores
    n_blocks: int
    model: str
    final_norm: str
    certified: bool
    text: str
    asked: int

    def mean(self, *, corrected: bool) -> float:
        """Mean score over its pairs l != l', without a unit; NaN if it has none."""
        mean = self.scores.mean()
        return mean.corrected if corrected else mean.coupling


def of_prompt(result: DepthResult, view: View) -> OfPrompt:
    """What is kept of a result, which must have the view's K and blocks."""
    return OfPrompt(
        replace(score_pairs(result, view), result=None),
        result.n_blocks,
        result.model_name,
        result.final_norm_words,
        result.certified,
        visible(result.tokens[result.token - 1]),
        result.request.token,
    )


def mean_scores(found: Sequence[Scores]) -> Scores:
    """Raw score, chance level and corrected score of each pair, as means over the prompts.

    The mean of corrected scores is not what the mean of raw scores corrects to: each prompt has its
    own chance level. A pair that has no score in one prompt has none here.
    """
    means = {name: np.mean([getattr(one, name) for one in found], axis=0) for name in MEASURES}
    return replace(found[0], **means, result=None)


def mean_graph(
    parts: Sequence[OfPrompt], *, corrected: bool = True, threshold: float = DEFAULT_THRESHOLD
) -> "nx.Graph[int]":
    """The layer graph of the mean scores, of one model in one view, a prompt each."""
    found = mean_scores([part.scores for part in parts])
    about: dict[str, str | float] = {"model": parts[0].model, "prompts": len(parts)}
    about |= {"K": found.view.k, "final_norm": parts[0].final_norm}
    return scores_graph(found, parts[0].n_blocks, about, corrected=corrected, threshold=threshold)


def origin(parts: Sequence[OfPrompt], listed: str, view: View) -> dict[str, str]:
    """Which model's means over which list of prompts they are, and where they come from."""
    title = f"{parts[0].model}, mean over {counted(len(parts), 'prompt')} of {listed}"
    certified, blocks = sum(part.certified for part in parts), parts[0].scores.blocks
    told = sentences(
        title,
        f"K = {view.k}",
        definition_name(view),
        (len(blocks) < parts[0].n_blocks, f"blocks {ranges(blocks)}"),
        token_words(parts),
        parts[0].final_norm,
        f"SVDs of {certified} of {counted(len(parts), 'prompt')} certified",
    )
    return {"title": title, "source": " · ".join(told)}


def interval_words(over: Interval) -> str:
    """A mean over prompts with its interval: 0.055 (95 % interval 0.053 to 0.057)."""
    return f"{rounded(over.mean)} ({ends(over) if over.n > 1 else 'no interval: one prompt'})"


def ends(over: Interval) -> str:
    """Where an interval begins and ends."""
    return f"95\u00a0% interval {rounded(over.low)} to {rounded(over.high)}"


def spread_words(numbers: Mapping[int, float], *, of: str = "") -> str:
    """Which prompts, by their places in the list, are lowest and highest.

    `of` names the model as a phrase, if the sentence before is about another one.
    """
    known = {place: one for place, one in numbers.items() if np.isfinite(one)}
    if len(known) < 2:
        return ""
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    return (
        f"The lowest{of and f' {of}'} is prompt {low} with {rounded(known[low])}, the "
        f"highest prompt {high} with {rounded(known[high])}."
    )


def token_words(parts: Sequence[OfPrompt]) -> str:
    """At which token prompts are measured, and whether that is nearly always the same one.

    Coupling depends on the token: if all prompts end alike, an interval over them says nothing of
    other endings.
    """
    asked = {part.asked for part in parts}
    token = next(iter(asked))
    place = "the last token" if token == -1 else f"token {token}"
    place += ", counted from the end," * (token < -1)
    text, n = Counter(part.text for part in parts).most_common(1)[0]
    which = f"all {n}" if n == len(parts) else f"{n} of the {len(parts)}"
    alike = f", which is “{text}” in {which}: other tokens can have other numbers"
    is_alike = len(parts) >= LEAST and n >= ALIKE * len(parts)
    return f"{place if len(asked) == 1 else 'one token'} of each prompt" + alike * is_alike


def few_words(n: int, *, of_coupling: bool = True) -> str:
    """The warning about n prompts; "" if they are enough. Few can overstate coupling."""
    overstated = ", which can overstate coupling" * of_coupling
    few = f"Found {counted(n, 'prompt')}: no claim about the model rests on fewer than"
    return f"{few} {MIN_PROMPTS} prompts{overstated}." if n < MIN_PROMPTS else ""
