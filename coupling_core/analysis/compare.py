"""Two results of blocks, of tokens or of paths side by side: A, B and A - B."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack, overload

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.analysis.alignment import (
    attributes_of_both,
    differences,
    match_blocks,
    nearly_whole,
    of_two_widths,
    read_apart,
    side_names,
)
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.analysis.scores import below_chance, definition_name, score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.notebook import Plottable, Table, in_a_line, in_short
from coupling_core.base.records import Role, View, resolve_block, resolve_blocks, viewed
from coupling_core.base.results import (
    DepthResult,
    PositionScores,
    Result,
    Scores,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
)
from coupling_core.base.results.scores import (
    MEASURES,
    Along,
    coordinates,
    over_pairs,
    weighted_mean,
)
from coupling_core.base.units import counted, ranges_spoken, rounded, with_difference
from coupling_core.base.wording import Row, paragraph

if TYPE_CHECKING:  # half a second to import
    import xarray

FEW = 2
"""So many pairs correlate with 1 or -1 whatever they are."""
BetweenTokens = TokensResult | TokenMeansResult


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


@dataclass(frozen=True, repr=False)
class Comparison(Plottable[Literal["comparison", "difference"]]):
    """Two results at one view, on the blocks that they have in common.

    Its figures are "comparison", with the maps of A, of B and of A - B, and "difference", with that
    of A - B alone. Its table has a row a pair that is counted, the biggest difference first:
    `block` and `basis` in A's numbers, `b_block` and `b_basis` in B's, `a` and `b` (the score
    compared, without a unit) and `difference`, A - B.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A, with its own block numbers.
        b_scores: of B, with its own, in the order of their partners in A.
    """

    figures: ClassVar = {name: f"compare.{name}" for name in ("comparison", "difference")}
    pairs: ClassVar = "pairs l ≠ l'"
    """What the means are over."""

    a: Any = field(compare=False)  # of blocks, or both are between tokens
    b: Any = field(compare=False)
    view: View
    corrected: bool
    a_scores: Scores | PositionScores
    b_scores: Scores | PositionScores

    @property
    def score(self) -> Literal["corrected", "coupling"]:
        """Which score is compared."""
        return "corrected" if self.corrected else "coupling"

    @property
    def a_values(self) -> Float[np.ndarray, "row column"]:
        """The score compared, of A."""
        return np.asarray(getattr(self.a_scores, self.score))

    @property
    def b_values(self) -> Float[np.ndarray, "row column"]:
        """The score compared, of B."""
        return np.asarray(getattr(self.b_scores, self.score))

    @property
    def difference(self) -> Float[np.ndarray, "row column"]:
        """A - B; NaN where either has no score."""
        return self.a_values - self.b_values

    @property
    def itself(self) -> Bool[np.ndarray, "row column"]:
        """Where a Jacobian of A or of B meets itself."""
        return self.a_scores.against_itself() | self.b_scores.against_itself()

    @property
    def counted(self) -> Bool[np.ndarray, "row column"]:
        """Pairs that have a score in both, without any Jacobian against itself."""
        return ~(np.isnan(self.difference) | self.itself)

    @property
    def same_depth(self) -> bool:
        """Whether blocks are matched by their numbers."""
        return isinstance(self.a_scores, PositionScores) or self.a.n_blocks == self.b.n_blocks

    def partner(self, block: int) -> int:
        """The block of B that is matched with a block of A; `InputError` where there is none."""
        number = resolve_block(block, self.a.n_blocks)
        ours, theirs = self.a_scores.numbers, self.b_scores.numbers
        refuse((number not in ours, f"block {block} of A has no partner in B"))
        return theirs[ours.index(number)]

    def mean(self) -> Summary:
        """Means of A, of B and of A - B over the pairs counted, and how alike the two maps are.

        Between tokens in a mean over all pairs of blocks, where a token with itself is another
        thing than two tokens, the correlation is over different tokens.
        """
        a, b = self._means(self.score)
        x, y = (values[self._correlated] for values in (self.a_values, self.b_values))
        has_none = x.size <= FEW or np.ptp(x) == 0 or np.ptp(y) == 0
        alike = float("nan") if has_none else float(np.corrcoef(x, y)[0, 1])
        return Summary(a, b, a - b, alike, int(self.counted.sum()))

    def _means(self, score: str) -> tuple[float, float]:
        """Means of both sides' scores of this name over the pairs counted."""
        a, b = (
            weighted_mean(np.where(self.counted, getattr(of, score), np.nan), of.weights)
            for of in (self.a_scores, self.b_scores)
        )
        return a, b

    @property
    def _correlated(self) -> Bool[np.ndarray, "row column"]:
        if not any(isinstance(of, TokenMeansResult) for of in (self.a, self.b)):
            return self.counted
        return self.counted & ~np.eye(len(self.counted), dtype=bool)

    def _along(self) -> Along:
        """What names rows and columns."""
        ours, theirs = self.a_scores.along(), self.b_scores.along()
        if isinstance(self.a_scores, PositionScores):
            return ours
        return ours | {f"b_{name}": each for name, each in theirs.items()}

    @property
    def _maps(self) -> dict[str, Float[np.ndarray, "row column"]]:
        return {"a": self.a_values, "b": self.b_values, "difference": self.difference}

    def _table(self) -> Table:
        at = np.flatnonzero(self.counted)
        at = at[np.argsort(-np.abs(self.difference.ravel()[at]), kind="stable")]
        maps = {name: values.ravel() for name, values in self._maps.items()}
        named = over_pairs(self._along(), self.a_scores.dims, len(self.counted)) | maps
        return {name: values[at] for name, values in named.items()}, self.attributes()

    @property
    def _drawn_of(self) -> tuple[Result, View]:
        return self.a, self.view

    def to_xarray(self) -> "xarray.Dataset":
        """The maps of A, of B and of their difference.

        Returns:
            variables `a`, `b` and `difference`, and `counted`, the pairs that the means are over,
            which `where(counted)` leaves: over `block` and `basis` in A's numbers, with B's
            beside them as `b_block` and `b_basis`, or over `token` (of the Jacobian, 1..n) and
            `other_token` (of the basis), with texts. Its `attrs` say which score it is, and whose A
            and B are.
        """
        import xarray

        maps = self._maps | {"counted": self.counted}
        named = {name: (self.a_scores.dims, np.array(values)) for name, values in maps.items()}
        return xarray.Dataset(named, coords=coordinates(self._along()), attrs=self.attributes())

    def arrays(self) -> dict[str, np.ndarray]:
        """What it holds, by name: the scores and `blocks` of A and B, and their difference.

        `difference` is A - B of the score compared; `blocks`, or `tokens`, has the numbers that are
        matched.
        """
        return {name: values for name, (_, values) in self.variables().items()}

    def variables(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """The same with the names of their axes; the first side is A."""
        dims, both = self.a_scores.dims, (self.a_scores, self.b_scores)
        named: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            name: (("side", *dims), np.stack([getattr(side, name) for side in both]))
            for name in MEASURES
        }
        named[f"{dims[0]}s"] = ("side", dims[0]), np.array([side.numbers for side in both])
        sides = ("side",), np.array(["A", "B"])
        return named | {"difference": (dims, self.difference), "sides": sides}

    def attributes(self) -> dict[str, str | float]:
        """Which score is compared, whose A and B are, and how they are looked at, for tables."""
        return {"score": self.score} | attributes_of_both(self.a_scores, self.b_scores)

    @property
    def verdict(self) -> str:
        """Who A and B are, their means and their difference, and what bears on it."""
        (a_name, b_name), of = side_names(self.a, self.b), self.mean()
        score = "chance-corrected score" if self.corrected else "c"
        definition = f" ({definition_name(self.view)})" if self.view.unlike_usual else ""
        a, b, apart = with_difference(of.a, of.b, of.difference)
        is_less = not np.array_equal(self._correlated, self.counted)
        over = " over pairs of different tokens" * is_less
        return paragraph(
            f"A is {a_name}; B is {b_name}. Over {of.pairs} {self.pairs} at K = {self.view.k}"
            f"{definition}, the mean {score} is {a} in A and {b} in B; A - B is {apart}.",
            self._chance(),
            *self._below_chance(),
            (
                of.correlation == of.correlation,
                f"The two maps correlate{over} with r = {rounded(of.correlation, 2)}.",
            ),
            (a_name == b_name, f"They differ in {', '.join(differences(self.a, self.b))}."),
            *self._caveats(),
        )

    def _caveats(self) -> tuple[Row, ...]:
        """What else bears on the difference."""
        a, b, k = self.a, self.b, self.view.k
        n, ours = len(self.a_scores.numbers), ranges_spoken(self.a_scores.numbers)
        read = read_apart(a, b)
        whole = nearly_whole(k, min(a.width, b.width), "the smaller width")
        return (
            (read, f"The prompt is other tokens to the two: {read}."),
            (
                not self.same_depth,
                f"Blocks are matched by their relative depth, {n} of the {a.n_blocks} of A with "
                f"{n} of the {b.n_blocks} of B, and the means are over these alone.",
            ),
            (
                self.same_depth and len(self.view.blocks or range(a.n_blocks)) < a.n_blocks,
                f"The means are over blocks {ours}.",
            ),
            (a.width != b.width, of_two_widths(k, "A", a.width, "B", b.width)),
            (whole, f"{whole}; the paper compares models at a tenth of the width."),
        )

    def _chance(self) -> str:
        """What chance gives of raw scores, or how sure its level is where that is sampled."""
        if not self.corrected:
            a, b = map(rounded, self._means("chance"))
            return f"Chance gives {a} in A and {b} in B."
        if not self.view.is_sampled:
            return ""
        errors = (self.a_scores.floor_error, self.b_scores.floor_error)
        a, b = (rounded(one, 4) if one == one else "unknown size" for one in errors)
        return (
            "The chance floors are means over 8 random bases, with a standard error of "
            f"{a} in A and {b} in B."
        )

    def _below_chance(self) -> list[str]:
        """Why a side is below chance, where one is."""
        sides = (self.a, self.a_scores, "A"), (self.b, self.b_scores, "B")
        return [
            below_chance(of, found, f"The mean of {name}")
            for of, found, name in sides
            if self.corrected and isinstance(of, DepthResult) and isinstance(found, Scores)
        ]

    def __repr__(self) -> str:
        (a_name, b_name), of = side_names(self.a, self.b), self.mean()
        a, b, apart = with_difference(of.a, of.b, of.difference)
        return in_a_line(
            self,
            f"A: {a_name}, B: {b_name}, {self.view.k_told}",
            f"mean {self.score} A {a}, B {b}, A - B {apart} over {counted(of.pairs, 'pair')}",
        )


@dataclass(frozen=True, repr=False)
class TokenComparison(Comparison):
    """The same of two results over the same tokens: of other models, blocks, kinds or both.

    Its only figure is "difference", the map of A - B with the tokens' texts on its axes. In its
    table `token` (of the Jacobian, 1..n), `other_token` (of the basis), `text` and `other_text`
    stand in place of the blocks.
    """

    figures: ClassVar = {"difference": "compare.difference"}
    pairs = "pairs of tokens"


class Options(TypedDict, total=False):
    """What may be said of a comparison beside its view; see `compare`."""

    k: int | None
    definition: DefinitionName | None
    role: Role | None
    p: float | None
    corrected: bool
    blocks: Blocks


@overload
def compare(a: TrajectoryResult, b: TrajectoryResult) -> PathComparison: ...
@overload
def compare(
    a: BetweenTokens, b: BetweenTokens, view: View | None = None, **options: Unpack[Options]
) -> TokenComparison: ...
@overload
def compare(
    a: DepthResult, b: DepthResult, view: View | None = None, **options: Unpack[Options]
) -> Comparison: ...
@overload  # of results from a store, whose kinds no type checker knows: all at its usual view
def compare(a: Result, b: Result) -> Comparison | PathComparison: ...
def compare(
    a: Result,
    b: Result,
    view: View | None = None,
    *,
    k: int | None = None,
    blocks: Blocks = None,
    definition: DefinitionName | None = None,
    role: Role | None = None,
    p: float | None = None,
    corrected: bool = True,
) -> Comparison | PathComparison:
    """Bring two results together at one view; they may be of any models, prompts and tokens.

    Of two results between the tokens of one prompt each pair of tokens is compared, and of two
    trajectories the paths, which have no K: there the other arguments are left out.

    Args:
        a: A.
        b: B.
        view: K, definition and role; `blocks` are numbers of A, None takes all that have a
            partner. None is the paper's score.
        k: the K, in place of a view; None is the smaller `default_k` of the two.
        blocks: numbers of A, in place of a view's: "9-16", a range, a list.
        definition: which score, in place of a view's; None is the paper's.
        role: "A" or "B", in place of a view's; None is "A".
        p: the order of the norm of the paper's score, in place of a view's; None is 1.
        corrected: compare the chance-corrected score, else c.

    Raises:
        InputError: where they are neither both depth-wise, nor both between tokens, nor both
            trajectories; where one does not hold K, no block is left, or no pair has a score in
            both; on a view or a K of trajectories, and on blocks between tokens.
    """
    said = {"k": k, "definition": definition, "role": role, "p": p}
    if isinstance(a, TrajectoryResult) and isinstance(b, TrajectoryResult):
        is_asked = any(each is not None for each in (view, blocks, *said.values()))
        none = "paths have no K, blocks or scores: leave out k, blocks, definition, p, role and"
        refuse((is_asked or not corrected, f"{none} corrected"))
        return PathComparison(a, b)
    if isinstance(a, BetweenTokens) and isinstance(b, BetweenTokens):
        refuse(
            (
                a.tokens != b.tokens,
                "A and B have other tokens, and are compared pair by pair: measure one prompt in "
                "both",
            ),
        )
    elif not (isinstance(a, DepthResult) and isinstance(b, DepthResult)):
        kinds = [of.request.kind if isinstance(of, Result) else type(of).__name__ for of in (a, b)]
        raise InputError(
            f"A is of kind {kinds[0]!r} and B of kind {kinds[1]!r}: expected two results of depth, "
            "two between the tokens of one prompt, or two trajectories. cross(a, b) compares the "
            "directions of two models, compare_models(table, a, b) two models of a table, and "
            "a.plot(figure, twin=b) draws other kinds"
        )
    chosen = blocks_of(blocks, a.n_blocks)
    seen = viewed(view, min(a.default_k, b.default_k), blocks=chosen, **said)
    found = _scored(a, b, seen, corrected)
    refuse(
        (
            not found.counted.any(),
            f"no pair has a score ({definition_name(seen)}) at K = {seen.k} in both results: choose"
            " another K or definition (a rank is below K, or it is `preprint` at K = 1), or at "
            "least two blocks that both have",
        )
    )
    return found


def _scored(a: Any, b: Any, view: View, corrected: bool) -> Comparison:
    if not isinstance(a, DepthResult):
        scores = score_positions(a, view), score_positions(b, view)
        return TokenComparison(a, b, view, corrected, *scores)
    wanted = resolve_blocks(view.blocks, a.n_blocks)
    matched = [pair for pair in match_blocks(a.n_blocks, b.n_blocks) if pair[0] in wanted]
    ours, theirs = (replace(view, blocks=tuple(pair[side] for pair in matched)) for side in (0, 1))
    return Comparison(a, b, ours, corrected, score_pairs(a, ours), score_pairs(b, theirs))
