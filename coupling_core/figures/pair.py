"""One pair of Jacobians close up, of two blocks or of two tokens: its matrix, its score against K.

Row l (or t) is the Jacobian, column l' (or t') the basis.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Float32

from coupling_core.analysis.scores import corrected as above_chance
from coupling_core.analysis.scores import require_k, score_pairs
from coupling_core.analysis.scores import score_by_k as score_curve
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.records import ROLES, View, resolve_block, resolve_token
from coupling_core.base.results import DepthResult, TokensResult
from coupling_core.base.wording import paragraph
from coupling_core.figures import square_words, style
from coupling_core.figures.by_k import score_curves
from coupling_core.figures.score_squares import reasons
from coupling_core.figures.squares import grey, matrix_look, square_axes
from coupling_core.figures.words import leading, subject
from coupling_core.sources.tokens import visible

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame


@dataclass(frozen=True)
class _Pair:
    """Two Jacobians of a result, from 1, and how they are looked at."""

    result: DepthResult | TokensResult
    row: int
    column: int
    view: View

    @classmethod
    def of(cls, result: DepthResult | TokensResult, row: int, column: int, view: View) -> "_Pair":
        """With numbers that may be counted from the end."""
        require_k(result, view.k)
        if isinstance(result, DepthResult):
            row, column = (resolve_block(each, result.n_blocks) for each in (row, column))
        else:
            row, column = (resolve_token(each, len(result.tokens)) for each in (row, column))
        return cls(result, row, column, view)

    @property
    def noun(self) -> str:
        return "block" if isinstance(self.result, DepthResult) else "token"

    @property
    def corner(self) -> Float32[np.ndarray, "k k"]:
        """What is stored of the matrix, in units of s_1 of its Jacobian; NaN where nothing is."""
        side = min(self.view.k, self.result.k_view)
        at = ROLES.index(self.view.role), self.row - 1, self.column - 1
        return self.result.matrices[at][:side, :side].astype(np.float32)

    @property
    def unit(self) -> float:
        """That s_1."""
        s = self.result.singular_values
        return float(s.reshape(-1, s.shape[-1])[self.row - 1, 0])  # of tokens the first side

    @property
    def curves(self) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Score and chance floor for K = 1..Kmax."""
        return score_curve(self.result, self.row, self.column, self.view)

    @property
    def why(self) -> str:
        """Why it may have no score."""
        result, view = self.result, replace(self.view, blocks=None)
        found = (
            score_pairs(result, view)
            if isinstance(result, DepthResult)
            else score_positions(result, view)
        )
        return str(reasons(found)[self.row - 1, self.column - 1])

    @property
    def score(self) -> str:
        """The score as a sentence, or why there is none."""
        raw, floor = self.curves
        curves, at = (raw, floor, above_chance(raw, floor)), self.view.k - 1
        c, chance, above = (float(curve[at]) for curve in curves)
        if np.isnan(c):
            return square_words.NO_SCORE.format(why=self.why)
        return square_words.score(c, chance, above, self.view)

    @property
    def words(self) -> str:
        """Which Jacobian in which basis, as a phrase."""
        names = [f"{self.noun} {number}" for number in (self.row, self.column)]
        if isinstance(self.result, TokensResult):
            texts = (self.result.tokens[number - 1] for number in (self.row, self.column))
            names = [f"{name} “{visible(text)}”" for name, text in zip(names, texts, strict=True)]
        return f"the Jacobian of {names[0]} in the singular basis of {names[1]}"


def matrix(
    result: DepthResult | TokensResult,
    row: int,
    column: int,
    view: View,
    *,
    magnitude: bool = True,
    limit: float = style.MATRIX_LIMIT,
) -> go.Figure:
    """Leading corner of A (or B) of one pair, in units of s_1 of its Jacobian.

    Args:
        result: may be partial; a pair that waits, or is forbidden, is grey.
        row: l (or t), whose Jacobian it is.
        column: l' (or t'), whose singular vectors are the basis.
        view: K and role; the definition enters the caption.
        magnitude: draw abs(A), else A with its signs.
        limit: end of the colour range, in units of s_1.

    Returns:
        a figure whose first trace is the matrix.

    Raises:
        InputError: where K, a block or a token is not in the result.
    """
    pair = _Pair.of(result, row, column, view)
    z = np.abs(pair.corner) if magnitude else pair.corner
    side = len(z)
    terms = {
        "matrix": style.matrix_name(view, magnitude),
        "leading": leading(view.k, side),
        "pair": pair.words,
        "subject": subject(result),
        "score": pair.score,
    }
    read = square_words.MATRIX_READ.format(**terms | {"pair": pair.words[1:]})
    corner = (side < view.k, square_words.CORNER.format(side=side, k=view.k))
    figure = style.new_figure(
        square_words.MATRIX_ALT.format(**terms),
        paragraph(read, corner, square_words.BEYOND),
        height=560,
        **_axes(f"{pair.noun} {pair.column}", side, view),
    )
    triplets, unit = np.arange(1, side + 1), f"{terms['leading']}; unit s₁ = {pair.unit:.3g}"
    figure.add_heatmap(
        x=triplets,
        y=triplets,
        z=z,
        **matrix_look(z, view, unit, magnitude=magnitude, limit=limit),
        hovertemplate="row %{y}, column %{x}: %{z:.4f} s₁<extra></extra>",
        name="matrix",
    )
    if np.isnan(z).any():
        figure.add_trace(grey(triplets, triplets, np.isnan(z), np.full(z.shape, pair.why)))
    return style.fix_margins(figure)


def matrix_table(
    result: DepthResult | TokensResult, row: int, column: int, view: View
) -> "DataFrame":
    """Twin of one matrix, in units of s_1 of its Jacobian: row u (or v), column v (or u)."""
    from pandas import DataFrame, RangeIndex

    corner = _Pair.of(result, row, column, view).corner
    index = RangeIndex(1, len(corner) + 1)
    return DataFrame(corner, index=index, columns=index)


def score_by_k(
    result: DepthResult | TokensResult,
    row: int,
    column: int,
    view: View,
    *,
    corrected: bool = False,
) -> go.Figure:
    """Score for K = 1..Kmax with its chance floor, and a marker at the viewed K.

    Args:
        result: may be partial; a pair that waits has no curve.
        row: l (or t), whose Jacobian it is.
        column: l' (or t'), whose singular vectors are the basis.
        view: K, definition and role.
        corrected: draw the chance-corrected score, whose floor is 0.

    Returns:
        a figure with the traces "score", "chance" and "K".

    Raises:
        InputError: where K, a block or a token is not in the result.
    """
    pair = _Pair.of(result, row, column, view)
    raw, floor = pair.curves
    shown = above_chance(raw, floor) if corrected else raw
    what = f"Coupling of {pair.noun} {pair.row} in the basis of {pair.noun} {pair.column}"
    words, of = {"name": style.score_name(corrected), "what": what}, subject(result)
    return score_curves(
        shown, floor, view, words, f"{pair.words}, {of}", corrected, f" {pair.score}"
    )


def score_by_k_table(
    result: DepthResult | TokensResult, row: int, column: int, view: View
) -> "DataFrame":
    """Twin of the score against K: columns k, coupling, chance, corrected."""
    from pandas import DataFrame

    raw, floor = _Pair.of(result, row, column, view).curves
    above = above_chance(raw, floor)
    k = np.arange(1, result.k_max + 1)
    return DataFrame({"k": k, "coupling": raw, "chance": floor, "corrected": above})


def _axes(basis: str, side: int, view: View) -> dict[str, object]:
    left, right = ("u", "v") if view.role == "A" else ("v", "u")

    def axis(vector: str) -> dict[str, Any]:
        return {
            "title": {"text": f"Singular vector {vector} of {basis}"},
            "range": [0.5, side + 0.5],
            "tick0": 1,
            "dtick": max(1, -(-side // 8)),
        }

    return square_axes(axis(right), axis(left))
