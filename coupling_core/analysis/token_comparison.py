"""Two results between the tokens of one prompt side by side: A, B and A - B of every pair."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.analysis.sides import Summary, TwoMaps, correlation
from coupling_core.analysis.token_scores import score_positions, weighted_mean, weights
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.equality import SameContent
from coupling_core.base.errors import InputError
from coupling_core.base.records import View
from coupling_core.base.results import PositionScores, TokenMeansResult, TokensResult
from coupling_core.base.units import counted, with_difference

if TYPE_CHECKING:  # half a second each to import, and only tables need them
    import xarray
    from pandas import DataFrame

Compared = TokensResult | TokenMeansResult


@dataclass(frozen=True, repr=False, eq=False)
class TokenComparison(SameContent, TwoMaps):
    """Two results over the same tokens at one view: of other models, blocks, kinds or both.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A.
        b_scores: of B.
    """

    a: Compared = field(compare=False)
    b: Compared = field(compare=False)
    view: View
    corrected: bool
    a_scores: PositionScores
    b_scores: PositionScores

    @property
    def counted(self) -> Bool[np.ndarray, "position position"]:
        """Pairs that have a score in both, without any Jacobian against itself."""
        itself = self.a_scores.itself | self.b_scores.itself
        return ~(np.isnan(self.difference) | itself)

    def mean(self) -> Summary:
        """Means as `scores().mean()` has them, and how alike the two maps are.

        In a mean over all pairs of blocks a token with itself is another thing than two tokens,
        since no block is compared with itself there: the correlation is over different tokens.
        """
        if not self._of_all_blocks:
            return super().mean()
        a, b = self._average(self.a_values, self.a), self._average(self.b_values, self.b)
        others = self.counted & ~np.eye(len(self.counted), dtype=bool)
        alike = correlation(self.a_values[others], self.b_values[others])
        return Summary(a, b, a - b, alike, int(self.counted.sum()))

    def _average(self, values: Float[np.ndarray, "row column"], of: Compared) -> float:
        return weighted_mean(np.where(self.counted, values, np.nan), weights(of, self.view))

    @property
    def _of_all_blocks(self) -> bool:
        return isinstance(self.a, TokenMeansResult) or isinstance(self.b, TokenMeansResult)

    @property
    def _maps(self) -> str:
        return super()._maps + " over pairs of different tokens" * self._of_all_blocks

    def to_pandas(self) -> "DataFrame":
        """A row a pair that is counted, the biggest difference first.

        Returns:
            columns `token` (of the Jacobian, 1..n), `other_token` (of the basis), `text`,
            `other_text`, `a` and `b` (the score compared, without a unit), and `difference`, A - B.
            Its `attrs` say whose A and B are.
        """
        from pandas import DataFrame

        rows, columns = np.nonzero(self.counted)
        texts = np.array(self.a.tokens, object)
        table = DataFrame(
            {
                "token": rows + 1,
                "other_token": columns + 1,
                "text": texts[rows],
                "other_text": texts[columns],
                "a": self.a_values[rows, columns],
                "b": self.b_values[rows, columns],
                "difference": self.difference[rows, columns],
            }
        )
        table = table.sort_values(
            "difference", key=np.abs, ascending=False, kind="stable", ignore_index=True
        )
        table.attrs.update(self.attributes())
        return table

    def to_xarray(self) -> "xarray.Dataset":
        """The maps of A, of B and of their difference over pairs of tokens.

        Returns:
            variables `a`, `b` and `difference` over `token` (of the Jacobian, 1..n) and
            `other_token` (of the basis), and `counted`, the pairs that the means are over. Its
            `attrs` say which score it is, and whose A and B are.
        """
        import xarray

        dims, numbers = self.a_scores.dims, np.arange(1, len(self.difference) + 1)
        maps = {"a": self.a_values, "b": self.b_values, "difference": self.difference}
        return xarray.Dataset(
            {name: (dims, np.array(values)) for name, values in maps.items()}
            | {"counted": (dims, self.counted)},
            coords=dict.fromkeys(dims, numbers),
            attrs=self.attributes(),
        )

    def plot(self, figure: Literal["difference"] = "difference") -> Drawing:
        """The map of A - B, with the tokens' texts on its axes.

        Args:
            figure: "difference", the only one; `a.scores(k=...).plot()` draws A and B.

        Raises:
            InputError: on another name.
        """
        known_figure(figure, ("difference",))
        drawn: Drawing = self.a.part("views").compared(self)
        return drawn

    @property
    def verdict(self) -> str:
        """Who A and B are, their means and their difference."""
        means = self._means_told("pairs of tokens")
        return f"A is {_told(self.a)}; B is {_told(self.b)}. {means}"

    def __repr__(self) -> str:
        of = self.mean()
        a, b, apart = with_difference(of.a, of.b, of.difference)
        return (
            f"TokenComparison(A: {_told(self.a)}, B: {_told(self.b)}, K = {self.view.k}, "
            f"{self.view.definition}, mean A {a}, B {b}, A - B {apart}, over "
            f"{counted(of.pairs, 'pair')})"
        )


def compare_tokens(a: Compared, b: Compared, view: View, *, corrected: bool) -> TokenComparison:
    """Bring two results between tokens together at one view.

    Args:
        a: A.
        b: B, over the same tokens.
        view: K, definition and role of both.
        corrected: compare the chance-corrected score, else c.

    Raises:
        InputError: where the tokens are others, either lacks the view, or no pair has a score in
            both.
    """
    if a.tokens != b.tokens:
        raise InputError(
            "A and B have other tokens, and each pair of them is compared with the same pair: "
            "measure one prompt in both"
        )
    scores = score_positions(a, view), score_positions(b, view)
    found = TokenComparison(a, b, view, corrected, *scores)
    if not found.counted.any():
        raise InputError(
            f"no pair of different Jacobians has a score at K = {view.k} in both results: "
            "choose another K, or results that share a pair of tokens"
        )
    return found


def _told(of: Compared) -> str:
    return f"{of.model_name} {of.measured}"
