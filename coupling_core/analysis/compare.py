"""Two results of blocks, of tokens or of paths side by side: A, B and A - B."""

from dataclasses import dataclass, field, replace
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

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
from coupling_core.analysis.scores import definition_name, score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName, sampled_definitions
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.notebook import FigureOf, Plottable, Table, in_short
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
    Along,
    ScoreMap,
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
Of = TypeVar("Of", bound=Result)
Scored = TypeVar("Scored", bound=ScoreMap)


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
class MapComparison(Plottable[FigureOf], Generic[Of, Scored, FigureOf]):
    """Scores of A and of B over the same pairs, at one view; see `Comparison`."""

    pairs: ClassVar[str]
    """What the means are over."""

    a: Of = field(compare=False)
    b: Of = field(compare=False)
    view: View
    corrected: bool
    a_scores: Scored
    b_scores: Scored

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
    def counted(self) -> Bool[np.ndarray, "row column"]:
        """Pairs that have a score in both, without any Jacobian against itself."""
        itself = self.a_scores.against_itself() | self.b_scores.against_itself()
        return ~(np.isnan(self.difference) | itself)

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
        return self.a_scores.along()

    @property
    def _maps(self) -> dict[str, Float[np.ndarray, "row column"]]:
        return {"a": self.a_values, "b": self.b_values, "difference": self.difference}

    def columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_pandas`, without pandas, which is slow to import."""
        at = np.flatnonzero(self.counted)
        at = at[np.argsort(-np.abs(self.difference.ravel()[at]), kind="stable")]
        maps = {name: values.ravel() for name, values in self._maps.items()}
        named = over_pairs(self._along(), self.a_scores.dims, len(self.counted)) | maps
        return {name: values[at] for name, values in named.items()}

    def _table(self) -> Table:
        return self.columns(), self.attributes()

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
            (
                of.correlation == of.correlation,
                f"The two maps correlate{over} with r = {rounded(of.correlation, 2)}.",
            ),
            *self._caveats(),
        )

    def _caveats(self) -> tuple[Row, ...]:
        """What else bears on the difference."""
        return ()

    def _chance(self) -> str:
        """What chance gives of raw scores, or how sure its level is where that is sampled."""
        if not self.corrected:
            a, b = map(rounded, self._means("chance"))
            return f"Chance gives {a} in A and {b} in B."
        if self.view.definition not in sampled_definitions():
            return ""
        errors = (self.a_scores.floor_error, self.b_scores.floor_error)
        a, b = (rounded(one, 4) if one == one else "unknown size" for one in errors)
        return (
            "The chance floors are means over 8 random bases, with a standard error of "
            f"{a} in A and {b} in B."
        )

    def __repr__(self) -> str:
        (a_name, b_name), of = side_names(self.a, self.b), self.mean()
        a, b, apart = with_difference(of.a, of.b, of.difference)
        alike = f", correlation {rounded(of.correlation, 2)}" * (of.correlation == of.correlation)
        return (
            f"{type(self).__name__}(A: {a_name}, B: {b_name}, {self.view.k_told}, "
            f"mean {self.score} A {a}, B {b}, A - B {apart}{alike} over "
            f"{counted(of.pairs, 'pair')})"
        )


@dataclass(frozen=True, repr=False)
class Comparison(MapComparison[DepthResult, Scores, Literal["comparison", "difference"]]):
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

    pairs = "pairs l ≠ l'"
    figures: ClassVar = {name: f"compare.{name}" for name in ("comparison", "difference")}

    @property
    def same_depth(self) -> bool:
        """Whether blocks are matched by their numbers."""
        return self.a.n_blocks == self.b.n_blocks

    def partner(self, block: int) -> int:
        """The block of B that is matched with a block of A; `InputError` where there is none."""
        number = resolve_block(block, self.a.n_blocks)
        refuse((number not in self.a_scores.blocks, f"block {block} of A has no partner in B"))
        return self.b_scores.blocks[self.a_scores.blocks.index(number)]

    def arrays(self) -> dict[str, np.ndarray]:
        """What it holds, by name: the scores and `blocks` of A and B, and their difference.

        `difference` is A - B of the score compared; `blocks` has the numbers that are matched.
        """
        both = (self.a_scores, self.b_scores)
        names = ("coupling", "chance", "corrected", "blocks")
        named = {name: np.stack([getattr(side, name) for side in both]) for name in names}
        return named | {"difference": self.difference, "sides": np.array(["A", "B"])}

    def _along(self) -> Along:
        theirs = self.b_scores.along()
        return super()._along() | {f"b_{name}": each for name, each in theirs.items()}

    def _caveats(self) -> tuple[Row, ...]:
        a, b, k = self.a, self.b, self.view.k
        ours, theirs = (ranges_spoken(of.blocks) for of in (self.a_scores, self.b_scores))
        a_name, b_name = side_names(a, b)
        read = read_apart(a, b)
        whole = nearly_whole(k, min(a.width, b.width), "the smaller width")
        return (
            (a_name == b_name, f"They differ in {', '.join(differences(a, b))}."),
            (read, f"The prompt is other tokens to the two: {read}."),
            (
                not self.same_depth,
                f"Blocks are matched by their relative depth, {ours} of the {a.n_blocks} of A with "
                f"{theirs} of the {b.n_blocks} of B, and the means are over these alone.",
            ),
            (
                self.same_depth and len(self.a_scores.blocks) < a.n_blocks,
                f"The means are over blocks {ours}.",
            ),
            (a.width != b.width, of_two_widths(k, "A", a.width, "B", b.width)),
            (whole, f"{whole}; the paper compares models at a tenth of the width."),
        )


@dataclass(frozen=True, repr=False)
class TokenComparison(MapComparison[BetweenTokens, PositionScores, Literal["difference"]]):
    """Two results over the same tokens at one view: of other models, blocks, kinds or both.

    Its only figure is "difference", the map of A - B with the tokens' texts on its axes. Its table
    has a row a pair that is counted, the biggest difference first: `token` (of the Jacobian, 1..n),
    `other_token` (of the basis), `text`, `other_text`, `a` and `b` (the score compared, without a
    unit) and `difference`, A - B.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A.
        b_scores: of B.
    """

    pairs = "pairs of tokens"
    figures: ClassVar = {"difference": "compare.difference"}


AXES = {
    **dict.fromkeys(("coupling", "chance", "corrected"), ("side", "block", "basis")),
    "difference": ("block", "basis"),
    "blocks": ("side", "block"),
    "sides": ("side",),
}
"""Names of the axes of `Comparison.arrays`; the first side is A."""


class TokenOptions(TypedDict, total=False):
    """What may be said of a comparison between tokens beside its view; see `compare`."""

    k: int | None
    definition: DefinitionName | None
    role: Role | None
    p: float | None
    corrected: bool


class Options(TokenOptions, total=False):
    """The same of a comparison of blocks."""

    blocks: Blocks


@overload
def compare(a: TrajectoryResult, b: TrajectoryResult) -> PathComparison: ...
@overload
def compare(
    a: BetweenTokens, b: BetweenTokens, view: View | None = None, **options: Unpack[TokenOptions]
) -> TokenComparison: ...
@overload
def compare(
    a: DepthResult, b: DepthResult, view: View | None = None, **options: Unpack[Options]
) -> Comparison: ...
@overload  # of results from a store, whose kinds no type checker knows: all at its usual view
def compare(a: Result, b: Result) -> Comparison | TokenComparison | PathComparison: ...
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
) -> Comparison | TokenComparison | PathComparison:
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
    found: Comparison | TokenComparison
    if isinstance(a, BetweenTokens) and isinstance(b, BetweenTokens):
        refuse(
            (blocks is not None, "between tokens the blocks are the results' own: omit blocks"),
            (
                a.tokens != b.tokens,
                "A and B have other tokens, and are compared pair by pair: measure one prompt in "
                "both",
            ),
        )
        seen = viewed(view, min(a.default_k, b.default_k), **said)
        scores = score_positions(a, seen), score_positions(b, seen)
        found = TokenComparison(a, b, seen, corrected, *scores)
    elif isinstance(a, DepthResult) and isinstance(b, DepthResult):
        chosen = blocks_of(blocks, a.n_blocks)
        seen = viewed(view, min(a.default_k, b.default_k), blocks=chosen, **said)
        found = _of_blocks(a, b, seen, corrected=corrected)
    else:
        kinds = [of.request.kind if isinstance(of, Result) else type(of).__name__ for of in (a, b)]
        raise InputError(
            f"A is of kind {kinds[0]!r} and B of kind {kinds[1]!r}: expected two results of depth, "
            "two between the tokens of one prompt, or two trajectories. cross(a, b) compares the "
            "directions of two models, compare_models(table, a, b) two models of a table, and "
            "a.plot(figure, twin=b) draws other kinds"
        )
    refuse(
        (
            not found.counted.any(),
            f"no pair has a score ({definition_name(seen)}) at K = {seen.k} in both results: choose"
            " another K or definition (a rank is below K, or it is `preprint` at K = 1), or at "
            "least two blocks that both have",
        )
    )
    return found


def _of_blocks(a: DepthResult, b: DepthResult, view: View, *, corrected: bool) -> Comparison:
    wanted = resolve_blocks(view.blocks, a.n_blocks)
    pairs = [pair for pair in match_blocks(a.n_blocks, b.n_blocks) if pair[0] in wanted]
    ours, theirs = (replace(view, blocks=tuple(pair[side] for pair in pairs)) for side in (0, 1))
    scores = score_pairs(a, ours), score_pairs(b, theirs)
    return Comparison(a, b, ours, corrected, *scores)
