"""A square map of scores: which pairs it shows, what it colours, and what is said of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from coupling_core.analysis.scores import score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import View, resolve_token
from coupling_core.base.results import (
    DepthResult,
    PositionScores,
    Scores,
    TokenMeansResult,
    TokenResult,
    TokensResult,
)
from coupling_core.base.units import counted, rounded, with_minus
from coupling_core.base.wording import paragraph
from coupling_core.figures import style
from coupling_core.figures.squares import FORBIDDEN, Reasons, Square

Numbers = Iterable[int] | None  # of tokens; None is the first that fit
ITSELF = {"block": "a block with itself: always 1", "token": "a Jacobian with itself: always 1"}
"""Why a map of scores does not colour its diagonal: trained or not, it would outshine all else."""
MOST_SHOWN = 32  # tokens a side of one map; a longer prompt is looked at in windows of so many


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreSquare(Square):
    """The scores of pairs of blocks, or of some of the tokens, as a map shows them."""

    found: Scores | PositionScores
    why: Reasons

    @classmethod
    def of(
        cls, found: Scores | PositionScores, rows: Numbers = None, columns: Numbers = None
    ) -> "ScoreSquare":
        """Scores of all blocks viewed, or of tokens in these rows and columns."""
        why = reasons(found)
        if isinstance(found, Scores):
            return cls(rows=found.blocks, columns=found.blocks, found=found, why=why)
        result = found.result
        assert isinstance(result, TokenResult)  # `score_positions` names it
        by, of = window(result, rows), window(result, columns)
        blocks = ["every block"] * 2
        if isinstance(result, TokensResult):
            blocks = [f"block {block}" for block in result.blocks]
        return cls(
            rows=by,
            columns=of,
            titles=(f"Token of the Jacobian, {blocks[0]}", f"Token of the basis, {blocks[1]}"),
            texts=result.tokens,
            found=found,
            why=why[np.ix_(np.array(by) - 1, np.array(of) - 1)],
        )

    def take(self, values: Shaped[np.ndarray, "all all"]) -> Shaped[np.ndarray, "row column"]:
        """Of values of all pairs those that are shown."""
        if not self.texts:
            return values
        return values[np.ix_(np.array(self.rows) - 1, np.array(self.columns) - 1)]

    def colored(self, *, corrected: bool) -> Float[np.ndarray, "row column"]:
        """What a map of scores colours; NaN where a pair has no colour."""
        values = self.take(self.found.corrected if corrected else self.found.coupling)
        return np.where(self.why == "", values, np.nan).astype(np.float32)

    def hover_texts(self) -> list[str]:
        """The pair and its numbers, or why it has none, row by row."""
        of = self.found.coupling, self.found.chance, self.found.corrected
        scores, between, texts = [*map(self.take, of)], "<br>" if self.texts else " ", []
        for (i, j), why in np.ndenumerate(self.why):
            row, column = self.name(self.rows[i]), self.name(self.columns[j])
            numbers = why or score_lines(*(float(values[i, j]) for values in scores))
            texts.append(f"Jacobian of {row}{between}in the basis of {column}<br>{numbers}")
        return texts

    @property
    def letter(self) -> str:
        """By which a sentence calls a row; that of a column has a prime."""
        return "t" if self.texts else "l"

    def alt(
        self, what: str, subject: str, values: Float[np.ndarray, "row column"], more: str = ""
    ) -> str:
        """What a map shows: of which pairs it is, its mean, and how many cells have no value."""
        size = f"{len(self.rows)} by {counted(len(self.columns), self.noun)}"
        forbidden = self.why == FORBIDDEN
        without = np.isnan(values) & ~forbidden & (self.why != ITSELF[self.noun])
        hatched, grey = (counted(int(cells.sum()), "cell") for cells in (forbidden, without))
        return paragraph(
            f"{what} for {size} of {subject}: row {self.letter} is the Jacobian, column "
            f"{self.letter}' the basis.",
            (
                len(self.texts) > min(len(self.rows), len(self.columns)),
                f"Shown are tokens {self.rows[0]} to {self.rows[-1]} by {self.columns[0]} to "
                f"{self.columns[-1]}.",
            ),
            self.found.verdict,
            more,
            (forbidden.any(), f"Hatched: {hatched} that causality forbids."),
            (without.any(), f"Grey: {grey} without a value."),
        )


def scores_of(
    result: DepthResult | TokensResult | TokenMeansResult, view: View
) -> Scores | PositionScores:
    """The scores of all pairs of the viewed blocks, or of the tokens."""
    if isinstance(result, DepthResult):
        return score_pairs(result, view)
    return score_positions(result, view)


def reasons(found: Scores | PositionScores) -> Reasons:
    """Why a pair has no colour on a map of these scores."""
    result, no_score = found.result, np.isnan(found.coupling)
    waiting = forbidden = unseen = np.zeros(no_score.shape, bool)
    if isinstance(found, Scores) and isinstance(result, DepthResult):
        at = np.array(found.blocks) - 1
        waiting = np.isnan(result.diagonal[0, ..., 0][np.ix_(at, at)])
    elif isinstance(result, TokensResult | TokenMeansResult):
        forbidden = ~np.logical_and.outer(result.allowed, result.allowed)
        if isinstance(result, TokenMeansResult):
            waiting = (result.pairs[..., 0] == 0) & (not result.complete)
            rows = columns = result.rank.max(0)
        else:
            waiting, (rows, columns) = np.isnan(result.diagonal[0, ..., 0]), result.rank
        unseen = np.logical_or.outer(rows == 0, columns == 0)
    return np.select(
        [forbidden, no_score & waiting, no_score & unseen, no_score, found.against_itself()],
        [
            FORBIDDEN,
            "not measured yet",
            "the output does not see a token",
            "undefined (rank below K)",
            ITSELF["block" if isinstance(found, Scores) else "token"],
        ],
        "",
    )


def window(result: TokenResult, shown: Numbers) -> tuple[int, ...]:
    """Numbers of the tokens shown, 1..n: those asked for (-1 is the last), or the first that fit.

    Of a longer prompt the first are those from the first token on that has a Jacobian.
    """
    n = len(result.tokens)
    if shown is not None:
        return tuple(resolve_token(number, n) for number in shown)
    first = 1 if n <= MOST_SHOWN else int(np.argmax(result.allowed)) + 1
    return tuple(range(first, min(n, first + MOST_SHOWN - 1) + 1))


def score_lines(coupling: float, chance: float, corrected: float) -> str:
    """The numbers of a pair, as hovering shows them."""
    c, floor, above = map(rounded, (coupling, chance, corrected))
    return with_minus(f"c = {c}, chance floor {floor}<br>chance-corrected {above}")


def score_look(
    values: Float[np.ndarray, "*any"],
    view: View,
    *,
    corrected: bool,
    auto_range: bool = False,
    limit: float = style.CORRECTED_COLORS[1],
) -> dict[str, Any]:
    """Colours of scores: in a fixed range, so that two figures compare, or over what is drawn."""
    low, high = style.RAW_RANGE
    ticks: dict[str, object] = {}
    if auto_range:
        low, high = style.span(values)
    elif corrected:
        low, high = (end * limit / style.CORRECTED_COLORS[1] for end in style.CORRECTED_COLORS)
        ticks = style.open_ends(low, high, 8, every=2)
    terms = style.score_terms(view) + style.AUTO * auto_range
    colors = style.around_zero(low, high)
    look = style.scale(low, high, colors, style.score_name(corrected), terms, **ticks)
    return look | {"hoverinfo": "skip", "name": "scores"}
