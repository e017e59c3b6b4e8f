"""One pair of Jacobians close up, of two blocks or of two tokens: its matrix, its score against K.

Row l (or t) is the Jacobian, column l' (or t') the basis. Beside it the mean of all pairs by K.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Float32

from coupling_core.analysis.scores import corrected as above_chance
from coupling_core.analysis.scores import definition_name, require_k
from coupling_core.analysis.scores import mean_by_k as mean_curves
from coupling_core.analysis.scores import score_by_k as score_curve
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.curves import Curves
from coupling_core.base.records import ROLES, View, resolve_block, resolve_token
from coupling_core.base.results import DepthResult, TokenMeansResult, TokensResult
from coupling_core.base.results.scores import PairScores
from coupling_core.base.units import counted, rounded
from coupling_core.base.wording import paragraph
from coupling_core.figures import style
from coupling_core.figures.curves import Series, chance, curves
from coupling_core.figures.score_squares import reasons, scores_of
from coupling_core.figures.squares import BEYOND, grey, matrix_look, square_axes
from coupling_core.figures.words import leading
from coupling_core.sources.tokens import visible

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

Compared = DepthResult | TokensResult
ByK = tuple[Float[np.ndarray, " k"], ...]
BY_K = Curves(
    x="k",
    y="{name} ({definition})",
    caption="{what} as more singular triplets are counted. Only what lies above the chance line is "
    "coupling.",
    height=380,
)


@dataclass(frozen=True)
class _Pair:
    """Two Jacobians of a result, from 1, and how they are looked at."""

    result: Compared
    row: int
    column: int
    view: View

    @classmethod
    def of(cls, result: Compared, row: int, column: int, view: View) -> "_Pair":
        """With numbers that may be counted from the end."""
        require_k(result, view.k)
        resolve = resolve_block if isinstance(result, DepthResult) else resolve_token
        row, column = (resolve(each, result.rank.shape[-1]) for each in (row, column))
        return cls(result, row, column, view)

    @property
    def names(self) -> list[str]:
        """Of the two, without the tokens' texts."""
        noun = "block" if isinstance(self.result, DepthResult) else "token"
        return [f"{noun} {number}" for number in (self.row, self.column)]

    @property
    def corner(self) -> Float32[np.ndarray, "k k"]:
        """What is stored of the matrix, in units of s_1 of its Jacobian; NaN where nothing is."""
        side = min(self.view.k, self.result.k_view)
        at = ROLES.index(self.view.role), self.row - 1, self.column - 1
        return self.result.matrices[at][:side, :side].astype(np.float32)

    @property
    def curves(self) -> ByK:
        """Raw score, chance floor and corrected score for K = 1..Kmax."""
        raw, floor = score_curve(self.result, self.row, self.column, self.view)
        return raw, floor, above_chance(raw, floor)

    @property
    def why(self) -> str:
        """Why it may have no score."""
        found = scores_of(self.result, replace(self.view, blocks=None))
        return str(reasons(found)[self.row - 1, self.column - 1])

    @property
    def score(self) -> str:
        """The score as a sentence, or why there is none."""
        raw, floor, above = (float(curve[self.view.k - 1]) for curve in self.curves)
        if np.isnan(raw):
            return f"The pair has no score: {self.why}."
        return _score_words(PairScores(above, raw, floor), self.view)

    @property
    def words(self) -> str:
        """Which Jacobian in which basis, as a phrase."""
        names = self.names
        if isinstance(self.result, TokensResult):
            texts = (self.result.tokens[number - 1] for number in (self.row, self.column))
            names = [f"{name} “{visible(text)}”" for name, text in zip(names, texts, strict=True)]
        return f"the Jacobian of {names[0]} in the singular basis of {names[1]}"


def matrix(
    result: Compared, row: int, column: int, view: View, *, magnitude: bool = True
) -> go.Figure:
    """Leading corner of A (or B) of one pair, in units of s_1 of its Jacobian."""
    pair = _Pair.of(result, row, column, view)
    z = np.abs(pair.corner) if magnitude else pair.corner
    side, score = len(z), pair.score
    name, shown = style.matrix_name(view, magnitude), leading(view.k, side)

    def axis(vector: str) -> dict[str, Any]:
        return {
            "title": {"text": f"Singular vector {vector} of {pair.names[1]}"},
            "range": [0.5, side + 0.5],
            "tick0": 1,
            "dtick": max(1, -(-side // 8)),
        }

    left, right = ("u", "v") if view.role == "A" else ("v", "u")
    stored = f"The leading {side} by {side} entries are stored; the score counts all {view.k}."
    read = f"T{pair.words[1:]}: diagonal where the two are coupled. {score}"
    figure = style.new_figure(
        f"Heatmap of {name}, {shown}: {pair.words}, {result.subject}. {score}",
        paragraph(read, (side < view.k, stored), BEYOND),
        height=560,
        **square_axes(axis(right), axis(left)),
    )
    s = result.singular_values
    unit = s.reshape(-1, s.shape[-1])[pair.row - 1, 0]  # of tokens the first side
    terms, triplets = f"{shown}; unit s₁ = {unit:.3g}", np.arange(1, side + 1)
    figure.add_heatmap(
        x=triplets,
        y=triplets,
        z=z,
        **matrix_look(z, view, terms, magnitude=magnitude),
        hovertemplate="row %{y}, column %{x}: %{z:.4f} s₁<extra></extra>",
        name="matrix",
    )
    if np.isnan(z).any():
        figure.add_trace(grey(triplets, triplets, np.isnan(z), np.full(z.shape, pair.why)))
    return style.fix_margins(figure)


def matrix_table(result: Compared, row: int, column: int, view: View) -> "DataFrame":
    """Twin of one matrix, in units of s_1 of its Jacobian: row u (or v), column v (or u)."""
    from pandas import DataFrame, RangeIndex

    corner = _Pair.of(result, row, column, view).corner
    numbers = RangeIndex(1, len(corner) + 1)
    return DataFrame(corner, numbers, numbers)


def score_by_k(
    result: Compared, row: int, column: int, view: View, *, corrected: bool = False
) -> go.Figure:
    """Score of the pair of `matrix` for K = 1..Kmax with its chance floor, 0 of corrected ones."""
    pair, name = _Pair.of(result, row, column, view), style.score_name(corrected)
    what = "Coupling of {} in the basis of {}".format(*pair.names)
    of = f"{pair.words}, {result.subject}"
    return _by_k(pair.curves, view, corrected, of, name, what, f" {pair.score}")


def score_by_k_table(result: Compared, row: int, column: int, view: View) -> "DataFrame":
    """Twin of the score against K: columns k, coupling, chance, corrected."""
    from pandas import DataFrame

    curves = _Pair.of(result, row, column, view).curves
    named = dict(zip(("coupling", "chance", "corrected"), curves, strict=True))
    return DataFrame({"k": np.arange(1, result.k_max + 1), **named})


def mean_by_k(result: DepthResult, view: View, *, corrected: bool = False) -> go.Figure:
    """Mean score over all pairs of different blocks for K = 1..Kmax, and its chance level."""
    require_k(result, view.k)
    name, what = (
        f"Mean {style.score_name(corrected).lower()}",
        "Mean over all pairs of blocks l ≠ l'",
    )
    return _by_k(mean_curves(result, view), view, corrected, result.subject, name, what)


def _by_k(
    scores: ByK, view: View, corrected: bool, of: str, name: str, what: str, also: str = ""
) -> go.Figure:
    """A raw score, its chance level and the corrected score, of which one is shown."""
    raw, floor, above = scores
    shown = above if corrected else raw
    level = np.where(np.isnan(floor), np.nan, 0.0) if corrected else floor
    k, here = np.arange(1, len(shown) + 1), slice(view.k - 1, view.k)
    return curves(
        [
            chance(k, level),
            Series("score", k, shown, style.ACCENT, 2.5),
            Series(f"K = {view.k}", k[here], shown[here], style.ACCENT, 0, marks=10, hover=False),
        ],
        BY_K,
        of,
        {"name": name, "what": what, "definition": definition_name(view)},
        also=also,
        xaxis={"range": [0, len(k) + 1]},
        yaxis={"range": style.score_range(corrected, shown, level)},
    )


def cell_words(result: TokenMeansResult, token: int, other: int, view: View) -> str:
    """The mean score of one pair of tokens as a sentence, with the number of its pairs."""
    score = score_positions(result, view)[token, other]
    if np.isnan(score.coupling):
        return f"Tokens {token} and {other} have no score."
    count = int(result.pairs[token - 1, other - 1, list(result.k_grid).index(view.k)])
    mean = f"Tokens {token} and {other}, mean over {counted(count, 'pair')} of blocks."
    return f"{mean} {_score_words(score, view)}"


def _score_words(score: PairScores, view: View) -> str:
    return (
        f"Score c = {rounded(score.coupling)} with chance floor {rounded(score.chance)}, "
        f"chance-corrected {rounded(score.corrected)} ({style.score_terms(view)})."
    )
