"""Two results of blocks, of tokens or of paths side by side: A, B and A - B."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np
from jaxtyping import Bool

from coupling_core.analysis.alignment import (
    MapComparison,
    Row,
    Summary,
    differences,
    match_blocks,
    nearly_whole,
    read_apart,
    side_names,
)
from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.analysis.scores import Scores, definition_name, score_pairs
from coupling_core.analysis.token_scores import score_positions
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.records import Role, View, resolve_block, resolve_blocks, viewed
from coupling_core.base.results import (
    DepthResult,
    PositionScores,
    Result,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
)
from coupling_core.base.units import percent, ranges_spoken

BetweenTokens = TokensResult | TokenMeansResult
AnyMaps = TypeVar("AnyMaps", bound=MapComparison)


@dataclass(frozen=True, repr=False)
class Comparison(MapComparison):
    """Two results at one view, on the blocks that they have in common.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A, with its own block numbers.
        b_scores: of B, with its own, in the order of their partners in A.
    """

    pairs: ClassVar[str] = "pairs l ≠ l'"

    a: DepthResult = field(compare=False)
    b: DepthResult = field(compare=False)
    view: View
    corrected: bool
    a_scores: Scores
    b_scores: Scores

    @property
    def same_depth(self) -> bool:
        """Whether blocks are matched by their numbers."""
        return self.a.n_blocks == self.b.n_blocks

    def partner(self, block: int) -> int:
        """The block of B that is matched with a block of A; `InputError` where there is none."""
        number = resolve_block(block, self.a.n_blocks)
        refuse((number not in self.a_scores.blocks, f"block {block} of A has no partner in B"))
        return self.b_scores.blocks[self.a_scores.blocks.index(number)]

    def plot(self, figure: Literal["comparison", "difference"] = "comparison") -> Drawing:
        """The maps of A, of B and of A - B, as `coupling compare` draws them.

        Args:
            figure: "comparison", or "difference" for the map of A - B alone.

        Raises:
            InputError: on another name.
        """
        drawn: Drawing = self.a.part("views").compared(self, figure)
        return drawn

    def _labels(self, rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
        ours, theirs = (np.array(of.blocks) for of in (self.a_scores, self.b_scores))
        named = {"block": ours[rows], "basis": ours[columns]}
        return named | {"b_block": theirs[rows], "b_basis": theirs[columns]}

    def _coordinates(self) -> dict[str, Any]:
        ours, theirs = (list(of.blocks) for of in (self.a_scores, self.b_scores))
        theirs_along = {"b_block": ("block", theirs), "b_basis": ("basis", theirs)}
        return {"block": ours, "basis": ours, **theirs_along}

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
            (
                a.width != b.width,
                f"K = {k} is {percent(k / a.width)} of the width of A ({a.width}) and "
                f"{percent(k / b.width)} of that of B ({b.width}): compare_models(table, ..., "
                "k=0.1) takes the same share of each.",
            ),
            (whole, f"{whole}; the paper compares models at a tenth of the width."),
        )


@dataclass(frozen=True, repr=False)
class TokenComparison(MapComparison):
    """Two results over the same tokens at one view: of other models, blocks, kinds or both.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A.
        b_scores: of B.
    """

    pairs: ClassVar[str] = "pairs of tokens"

    a: BetweenTokens = field(compare=False)
    b: BetweenTokens = field(compare=False)
    view: View
    corrected: bool
    a_scores: PositionScores
    b_scores: PositionScores

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
    def _of_all_blocks(self) -> bool:
        return isinstance(self.a, TokenMeansResult) or isinstance(self.b, TokenMeansResult)

    @property
    def _correlated(self) -> Bool[np.ndarray, "position position"]:
        same = np.eye(len(self.counted), dtype=bool) & self._of_all_blocks
        return self.counted & ~same

    def _labels(self, rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
        texts = np.array(self.a.tokens, object)
        named = {"token": rows + 1, "other_token": columns + 1}
        return named | {"text": texts[rows], "other_text": texts[columns]}

    def _coordinates(self) -> dict[str, Any]:
        return dict.fromkeys(self.a_scores.dims, np.arange(1, len(self.difference) + 1))


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
        refuse(
            (
                is_asked or not corrected,
                "paths have no K, blocks or scores: leave out k, blocks, definition, p, role and "
                "corrected",
            )
        )
        return PathComparison(a, b)
    if isinstance(a, BetweenTokens) and isinstance(b, BetweenTokens):
        refuse((blocks is not None, "between tokens the blocks are the results' own: omit blocks"))
        seen = viewed(view, min(a.default_k, b.default_k), **said)
        return _compare_tokens(a, b, seen, corrected=corrected)
    if not (isinstance(a, DepthResult) and isinstance(b, DepthResult)):
        kinds = [of.request.kind if isinstance(of, Result) else type(of).__name__ for of in (a, b)]
        raise InputError(
            f"A is of kind {kinds[0]!r} and B of kind {kinds[1]!r}: expected two results of depth, "
            "two between the tokens of one prompt, or two trajectories. cross(a, b) compares the "
            "directions of two models, compare_models(table, a, b) two models of a table, and "
            "a.plot(figure, twin=b) draws other kinds"
        )
    chosen = blocks_of(blocks, a.n_blocks)
    seen = viewed(view, min(a.default_k, b.default_k), blocks=chosen, **said)
    return _compare_blocks(a, b, seen, corrected=corrected)


def _compare_tokens(
    a: BetweenTokens, b: BetweenTokens, view: View, *, corrected: bool
) -> TokenComparison:
    other = "A and B have other tokens, and are compared pair by pair: measure one prompt in both"
    refuse((a.tokens != b.tokens, other))
    scores = score_positions(a, view), score_positions(b, view)
    return _with_pairs(TokenComparison(a, b, view, corrected, *scores))


def _compare_blocks(a: DepthResult, b: DepthResult, view: View, *, corrected: bool) -> Comparison:
    wanted = resolve_blocks(view.blocks, a.n_blocks)
    pairs = [pair for pair in match_blocks(a.n_blocks, b.n_blocks) if pair[0] in wanted]
    ours, theirs = (replace(view, blocks=tuple(pair[side] for pair in pairs)) for side in (0, 1))
    scores = score_pairs(a, ours), score_pairs(b, theirs)
    return _with_pairs(Comparison(a, b, ours, corrected, *scores))


def _with_pairs(compared: AnyMaps) -> AnyMaps:
    """The same, where any pair has a score in both."""
    view = compared.view
    refuse(
        (
            not compared.counted.any(),
            f"no pair has a score ({definition_name(view)}) at K = {view.k} in both results: choose"
            " another K or definition (a rank is below K, or it is `preprint` at K = 1), or at "
            "least two blocks that both have",
        )
    )
    return compared


def summarise(comparison: Comparison) -> Summary:
    """Means over the pairs counted, and the correlation of the two maps.

    Args:
        comparison: two results of blocks side by side.

    Returns:
        means of the score compared, without a unit.
    """
    return comparison.mean()
