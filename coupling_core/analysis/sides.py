"""What comparisons of two results have in common: who A and B are, and what they come to."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.analysis.scores import definition_name
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.records import View
from coupling_core.base.results import PositionScores, Result, Scores
from coupling_core.base.results.base import short_prompt
from coupling_core.base.showing import Drawn, in_short
from coupling_core.base.units import counted, rounded, with_difference

FEW = 2
"""So many pairs correlate with 1 or -1 whatever they are."""


@dataclass(frozen=True, repr=False)
class Summary:
    """What a comparison comes to, over the pairs that have a score in both.

    Args:
        a: mean of A.
        b: mean of B.
        difference: mean of A - B.
        correlation: of the two maps (Pearson); NaN where one of them is constant, and of two pairs.
        pairs: how many pairs.
    """

    a: float
    b: float
    difference: float
    correlation: float
    pairs: int

    __repr__ = in_short


class TwoMaps(Drawn):
    """Two maps of scores over the same pairs, of blocks or of tokens.

    Whoever extends it has these: the results A and B, `view` (K, definition and role of both),
    `corrected` (whether the chance-corrected score is compared, else c), and the scores of A and
    of B.
    """

    _elsewhere = dict.fromkeys(
        ("p", "p_value", "pvalue", "low", "high", "n", "by_prompt"),
        "two results have no test; compare_models(table, a, b) has one, over prompts",
    )

    a: Any
    b: Any
    view: View
    corrected: bool
    a_scores: Scores | PositionScores
    b_scores: Scores | PositionScores

    @property
    def a_values(self) -> Float[np.ndarray, "row column"]:
        """The score compared, of A."""
        return self.a_scores.corrected if self.corrected else self.a_scores.coupling

    @property
    def b_values(self) -> Float[np.ndarray, "row column"]:
        """The score compared, of B."""
        return self.b_scores.corrected if self.corrected else self.b_scores.coupling

    @property
    def difference(self) -> Float[np.ndarray, "row column"]:
        """A - B; NaN where either has no score."""
        return self.a_values - self.b_values

    @property
    @abstractmethod
    def counted(self) -> Bool[np.ndarray, "row column"]:
        """Pairs that have a score in both, without any Jacobian against itself."""

    def mean(self) -> Summary:
        """Means of A, of B and of A - B over the pairs counted, and how alike the two maps are."""
        a, b = (values[self.counted] for values in (self.a_values, self.b_values))
        apart = float((a - b).mean())
        return Summary(float(a.mean()), float(b.mean()), apart, correlation(a, b), a.size)

    def attributes(self) -> dict[str, str | float]:
        """Which score is compared, whose A and B are, and how they are looked at, for tables."""
        sides = (("a", self.a_scores), ("b", self.b_scores))
        return {"score": "corrected" if self.corrected else "coupling"} | {
            f"{side}_{name}": told
            for side, scores in sides
            for name, told in scores.attributes().items()
        }

    def _means_told(self, pairs: str) -> str:
        """Their means and their difference, in a sentence or two.

        Args:
            pairs: what they are pairs of, behind their number.
        """
        of, score = self.mean(), "chance-corrected score" if self.corrected else "c"
        a, b, apart = with_difference(of.a, of.b, of.difference)
        told = f" {self.floors_told}" * bool(self.floors_told)
        return (
            f"Over {of.pairs} {pairs} at K = {self.view.k}{self._definition()}, the mean {score} "
            f"is {a} in A and {b} in B; A - B is {apart}.{self._floors()}{told}"
            + f" {self._maps} with r = {rounded(of.correlation, 2)}."
            * (of.correlation == of.correlation)
        )

    @property
    def _maps(self) -> str:
        return "The two maps correlate"

    def _definition(self) -> str:
        """Which score is compared, where it is not the paper's of A."""
        return f" ({definition_name(self.view)})" if self.view.unlike_usual else ""

    @property
    def floors_told(self) -> str:
        """That the floors are not exact, where they are not, in a sentence; else ""."""
        if not self.corrected or self.view.definition not in sampled_definitions():
            return ""
        a, b = self.a_scores.floor_error, self.b_scores.floor_error
        if np.isnan([a, b]).any():
            return "Its floors are means over 8 random bases, and have an error of their own."
        return (
            "Its floors are means over 8 random bases, with a standard error of "
            f"{rounded(a, 4)} in the mean of A and {rounded(b, 4)} in that of B."
        )

    def _average(self, values: Float[np.ndarray, "row column"], of: Any) -> float:
        """Mean of a side's numbers over the pairs counted.

        Args:
            values: of each pair.
            of: the side's result, which may say what a pair weighs.
        """
        return float(values[self.counted].mean())

    def _floors(self) -> str:
        """What chance gives of raw scores, which mean nothing without it."""
        if self.corrected:
            return ""
        both = ((self.a, self.a_scores), (self.b, self.b_scores))
        a, b = (rounded(self._average(scores.chance, of)) for of, scores in both)
        return f" Chance gives {a} in A and {b} in B."


def correlation(a: Float[np.ndarray, " pair"], b: Float[np.ndarray, " pair"]) -> float:
    """Pearson's of two scores of the same pairs; NaN of one that is constant, and of two pairs.

    Two have 1 or -1 whatever they are.
    """
    constant = a.size <= FEW or np.ptp(a) == 0 or np.ptp(b) == 0
    return float("nan") if constant else float(np.corrcoef(a, b)[0, 1])


def told_sides(a: Result, b: Result) -> tuple[str, str]:
    """Who A and B are: their models, and what else of prompt, token, norm and precision differs."""
    parts = [
        (repr(short_prompt(a)), repr(short_prompt(b))),
        (token_told(a), token_told(b)),
        (a.final_norm_words, b.final_norm_words),
        (a.precision, b.precision),
    ]
    apart = [part for part in parts if part[0] != part[1]]
    ours, theirs = zip((a.model_name, b.model_name), *apart, strict=True)
    return ", ".join(ours), ", ".join(theirs)


def token_told(of: Result) -> str:
    """Which token was measured, where one was."""
    token = getattr(of, "token", None)
    return f"token {token}" if token else ""


def read_apart(a: Result, b: Result) -> str:
    """That the two read one text as other tokens, where they do; "" else."""
    if a.prompt_text != b.prompt_text or np.array_equal(a.token_ids, b.token_ids):
        return ""
    ours, theirs = (f"{counted(len(of.tokens), 'token')}, {of.tokens[0]!r} first" for of in (a, b))
    return f"A reads it as {ours}, and B as {theirs}"
