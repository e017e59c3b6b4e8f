"""Two stored results side by side: A, B and A - B of the score of every pair of blocks.

Blocks are matched by their numbers where both models have the same L. Where L differs they are
matched by relative depth: block l of the shallower model, of L blocks, lies at

    r = (l - 1) / (L - 1)            0 for the first block, 1 for the last

and is matched with the block of the deeper model whose r is nearest, the shallower of two that are
equally near. Nothing is interpolated, so that every number shown is one that was measured; a block
of the deeper model stands for at most one of the shallower.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

import numpy as np
from jaxtyping import Bool

from coupling_core.analysis.path_comparison import PathComparison
from coupling_core.analysis.scores import Scores, definition_name, k_of, score_pairs
from coupling_core.analysis.sides import Summary, TwoMaps, read_apart, told_sides
from coupling_core.analysis.token_comparison import TokenComparison, compare_tokens
from coupling_core.base.blocks import Blocks, blocks_of
from coupling_core.base.definitions import DefinitionName
from coupling_core.base.drawing import Drawing
from coupling_core.base.equality import SameContent
from coupling_core.base.errors import InputError, a_type
from coupling_core.base.keywords import known_keywords
from coupling_core.base.records import (
    TOKEN_KINDS,
    Role,
    View,
    resolve_block,
    resolve_blocks,
    viewed,
)
from coupling_core.base.results import (
    DepthResult,
    Result,
    TokenMeansResult,
    TokensResult,
    TrajectoryResult,
)
from coupling_core.base.results.at_token import AtToken
from coupling_core.base.units import counted, percent, ranges_spoken, rounded, with_difference

if TYPE_CHECKING:  # half a second to import
    import xarray
    from pandas import DataFrame

MOST_OF_WIDTH = 0.5
"""Share of the narrower width above which the verdict warns of K."""
TWINS = ("trajectory", "spectrum", "perturbation", "directions")
"""Kinds of which some figures have two results."""
DIFFERENCE_COLUMNS = ("block", "basis", "b_block", "b_basis", "a", "b", "difference")
"""Of a table of pairs: numbers of A, of their partners in B, the score compared, and A - B."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(SameContent, TwoMaps):
    """Two results at one view, on the blocks that they have in common.

    Args:
        a: the result A.
        b: the result B.
        view: K, definition and role of both.
        corrected: whether the chance-corrected score is compared, else c.
        a_scores: of A, with its own block numbers.
        b_scores: of B, with its own, in the order of their partners in A.
    """

    a: DepthResult = field(compare=False)
    b: DepthResult = field(compare=False)
    view: View
    corrected: bool
    a_scores: Scores
    b_scores: Scores

    @property
    def counted(self) -> Bool[np.ndarray, "block block"]:
        """Pairs l != l' that have a score in both."""
        return ~np.isnan(self.difference) & ~np.eye(len(self.difference), dtype=bool)

    @property
    def same_depth(self) -> bool:
        """Whether blocks are matched by their numbers."""
        return self.a.n_blocks == self.b.n_blocks

    def partner(self, block: int) -> int:
        """The block of B that is matched with a block of A; `InputError` where there is none."""
        number = resolve_block(block, self.a.n_blocks)
        if number not in self.a_scores.blocks:
            raise InputError(f"block {block} of A has no partner among the blocks of B compared")
        return self.b_scores.blocks[self.a_scores.blocks.index(number)]

    def to_pandas(self) -> "DataFrame":
        """A row a pair l != l' that both have, the biggest difference first.

        Returns:
            columns `block` and `basis` in A's numbers, `b_block` and `b_basis` in B's, `a` and `b`
            (the score compared, without a unit), and `difference`, A - B. Its `attrs` say whose
            A and B are.
        """
        from pandas import DataFrame

        table = DataFrame(difference_rows(self), columns=list(DIFFERENCE_COLUMNS))
        table.attrs.update(self.attributes())
        return table

    def to_xarray(self) -> "xarray.Dataset":
        """The maps of A, of B and of their difference over their blocks.

        Returns:
            variables `a`, `b` and `difference` over `block` and `basis`, which are A's numbers, and
            `counted`, the pairs l != l' that have a score in both: those of the means, which
            `where(counted)` leaves. Beside the numbers of A stand those of B, `b_block` and
            `b_basis`. Its `attrs` say which score it is, and whose A and B are.
        """
        import xarray

        ours, theirs = (list(of.blocks) for of in (self.a_scores, self.b_scores))
        maps = {"a": self.a_values, "b": self.b_values, "difference": self.difference}
        along = {"b_block": ("block", theirs), "b_basis": ("basis", theirs)}
        return xarray.Dataset(
            {name: (("block", "basis"), np.array(values)) for name, values in maps.items()}
            | {"counted": (("block", "basis"), self.counted)},
            coords={"block": ours, "basis": ours, **along},
            attrs=self.attributes(),
        )

    def plot(self, figure: Literal["comparison", "difference"] = "comparison") -> Drawing:
        """The maps of A, of B and of A - B, as `coupling compare` draws them.

        Args:
            figure: "comparison", or "difference" for the map of A - B alone.

        Raises:
            InputError: on another name.
        """
        drawn: Drawing = self.a.part("views").compared(self, figure)
        return drawn

    @property
    def verdict(self) -> str:
        """The means of both, their difference, and how alike the two maps are."""
        a, b = told_sides(self.a, self.b)
        some = self.same_depth and len(self.a_scores.blocks) < self.a.n_blocks
        means = self._means_told(
            "pairs l ≠ l'" + f" of blocks {ranges_spoken(self.a_scores.blocks)}" * some
        )
        alike = f" {differences_told(self.a, self.b)}" * (a == b)
        wide = self.a.width != self.b.width
        widths = f" A has a width of {self.a.width}, and B of {self.b.width}." * wide
        apart = read_apart(self.a, self.b)
        alike += f" The prompt is other tokens to the two: {apart}." * bool(apart)
        return f"A is {a}; B is {b}.{alike} {means}{self._matched()}{widths}{self._nearly_whole()}"

    def _matched(self) -> str:
        """Which blocks are compared, where the two have different numbers of them."""
        if self.same_depth:
            return ""
        sides = (("A", self.a, self.a_scores), ("B", self.b, self.b_scores))
        a, b = (
            f"{ranges_spoken(scores.blocks)} of the {of.n_blocks} of {name}"
            for name, of, scores in sides
        )
        return (
            f" Blocks are matched by their relative depth, {a} with {b}, and the means are over "
            "these alone."
        )

    def _nearly_whole(self) -> str:
        """What is to be said of a K that is most of a width; nothing where it is not."""
        name, narrow = min((("A", self.a), ("B", self.b)), key=lambda one: one[1].width)
        k, width = self.view.k, narrow.width
        wide = self.b if narrow is self.a else self.a
        beside = f" and {percent(k / wide.width)} of the other's" * (wide.width != width)
        told = nearly_whole(k, width, f"the width of {name} ({width}){beside}")
        tenth = f"k={k_of(0.1, self.a.width)}"
        if wide.width != width:
            tenth += (
                f" of A, k={k_of(0.1, self.b.width)} of B, which compare_models(table, ..., k=0.1) "
                "takes each at its own"
            )
        rest = f". The paper compares models at a tenth of the width: {tenth}."
        return f" {told}{rest}" if told else ""

    def __repr__(self) -> str:
        of, score = self.mean(), "corrected" if self.corrected else "coupling"
        a, b, apart = with_difference(of.a, of.b, of.difference)
        sides = told_sides(self.a, self.b)
        return (
            f"Comparison(A: {sides[0]}, B: {sides[1]}, K = {self.view.k}"
            f"{self.view.unlike_usual}, mean {score} A {a}, B {b}, A - B {apart}, "
            + f"correlation {rounded(of.correlation, 2)} over " * (of.correlation == of.correlation)
            + f"{counted(of.pairs, 'pair')})"
        )


class Options(TypedDict, total=False):
    """What may be said of a comparison of blocks beside its view; see `compare`."""

    k: int | None
    blocks: Blocks
    definition: DefinitionName | None
    role: Role | None
    p: float | None
    corrected: bool


class TokenOptions(TypedDict, total=False):
    """The same of a comparison between tokens, whose blocks their results have."""

    k: int | None
    definition: DefinitionName | None
    role: Role | None
    p: float | None
    corrected: bool


@overload
def compare(a: TrajectoryResult, b: TrajectoryResult) -> PathComparison: ...
@overload
def compare(
    a: TokensResult | TokenMeansResult,
    b: TokensResult | TokenMeansResult,
    view: View | None = None,
    **options: Unpack[TokenOptions],
) -> TokenComparison: ...
@overload
def compare(
    a: DepthResult, b: DepthResult, view: View | None = None, **options: Unpack[Options]
) -> Comparison: ...
@overload  # of results from a store, whose kinds no type checker knows: all at its usual view
def compare(a: Result, b: Result) -> Comparison | TokenComparison | PathComparison: ...


@known_keywords
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
    if isinstance(a, TrajectoryResult) and isinstance(b, TrajectoryResult):
        said = [view, k, blocks, definition, role, p]
        if not corrected or any(each is not None for each in said):
            raise InputError("paths have no K, blocks or floor: compare(a, b) is all there is")
        return PathComparison(a, b)
    between = (TokensResult, TokenMeansResult)
    if isinstance(a, between) and isinstance(b, between):
        if blocks is not None:
            raise InputError("between tokens the blocks are those of the results: leave them out")
        least = min(a.default_k, b.default_k)
        view = viewed(view, least, k=k, definition=definition, role=role, p=p)
        return compare_tokens(a, b, view, corrected=corrected)
    a, b = depth_wise("A", a), depth_wise("B", b)
    chosen = blocks_of(blocks, a.n_blocks)
    _require_whole(k, a, b)
    least = min(a.default_k, b.default_k)
    view = viewed(view, least, k=k, blocks=chosen, definition=definition, role=role, p=p)
    _require_k(a, b, view.k)
    pairs = match_blocks(a.n_blocks, b.n_blocks)
    wanted = resolve_blocks(view.blocks, a.n_blocks)
    pairs = [pair for pair in pairs if pair[0] in wanted]
    if len(pairs) < 2:
        raise InputError(
            f"a comparison needs two blocks that have a partner in the other result, and there is "
            f"{len(pairs)}: A has {counted(a.n_blocks, 'block')}"
            + (f", of which {len(wanted)} were asked for" if view.blocks else "")
            + f", and B has {b.n_blocks}"
        )
    own, partners = zip(*pairs, strict=True)
    found = Comparison(
        a,
        b,
        replace(view, blocks=own),
        corrected,
        score_pairs(a, replace(view, blocks=own)),
        score_pairs(b, replace(view, blocks=partners)),
    )
    if not found.counted.any():
        raise InputError(
            f"no pair of blocks has a {definition_name(view)} score at K = {view.k} in both "
            "results (a Jacobian of a rank below K, or `preprint` at K = 1): choose another K or "
            "definition"
        )
    return found


def _require_whole(k: object, a: DepthResult, b: DepthResult) -> None:
    """Refuse a share of the width, which two models may have at different K."""
    if isinstance(k, float) and 0 < k < 1:
        raise InputError(
            f"two results are compared at one K, and {k:g} of the width is K = "
            f"{k_of(k, a.width)} of A and {k_of(k, b.width)} of B: choose one; "
            f"compare_models(table, ..., k={k:g}) compares models each at its own"
        )


def match_blocks(a: int, b: int) -> list[tuple[int, int]]:
    """Which block of A goes with which of B.

    Args:
        a: L of A.
        b: L of B.

    Returns:
        pairs of block numbers, as many as the shallower model has blocks.
    """
    if a > b:
        return [(deep, shallow) for shallow, deep in match_blocks(b, a)]
    step = (b - 1) / (a - 1) if a > 1 else 0.0
    # Half way rounds down, to the shallower block; the tolerance is for the rounding of r.
    return [(i + 1, 1 + int(np.ceil(i * step - 0.5 - 1e-9))) for i in range(a)]


@known_keywords
def summarise(found: Comparison) -> Summary:
    """Means over the pairs counted, and the correlation of the two maps.

    Args:
        found: two results side by side.

    Returns:
        means of the score compared, without a unit.

    Raises:
        InputError: where it is no comparison.
    """
    if not isinstance(found, Comparison):
        own = "; its own are found.mean()" * isinstance(found, TokenComparison)
        own += "; its own are in found.to_pandas()" * isinstance(found, PathComparison)
        raise InputError(
            f"{a_type(found)} came: expected what compare(a, b) gives of two results of blocks{own}"
        )
    return found.mean()


def nearly_whole(k: int, width: int, of: str) -> str:
    """What is to be said of a K that is most of a width, as a sentence without its end; else "".

    Args:
        k: the K of a view.
        width: of the model.
        of: what to call that width.
    """
    if k <= MOST_OF_WIDTH * width:
        return ""
    return (
        f"K = {k} is {percent(k / width)} of {of}: so many directions are nearly all that there "
        "are, and tell little"
    )


def biggest(found: Comparison, most: int) -> list[tuple[int, int]]:
    """Where the two differ most: cells (row, column) of the maps, the largest magnitude first."""
    size = np.where(found.counted, np.abs(found.difference), -1.0)
    order = np.argsort(-size, axis=None, kind="stable")[: min(most, int(found.counted.sum()))]
    return [(int(i), int(j)) for i, j in zip(*np.unravel_index(order, size.shape), strict=True)]


def difference_rows(found: Comparison) -> list[tuple[int | float, ...]]:
    """The pairs l != l' that both have in the order of `DIFFERENCE_COLUMNS`, the biggest first."""
    ours, theirs = found.a_scores.blocks, found.b_scores.blocks
    a, b, apart = found.a_values, found.b_values, found.difference
    return [
        (ours[i], ours[j], theirs[i], theirs[j], *(float(x[i, j]) for x in (a, b, apart)))
        for i, j in biggest(found, apart.size)
    ]


def differences(a: AtToken, b: AtToken) -> list[str]:
    """In what two measurements differ, besides their numbers; a phrase each."""
    if a.key and a.key == b.key:
        return ["A and B are the same result"]
    named = [
        ("model", a.model_name, b.model_name),
        ("revision", a.request.revision or "default", b.request.revision or "default"),
        ("weights", _weights(a), _weights(b)),
        ("width d", a.width, b.width),
        ("prompt", repr(a.prompt_text), repr(b.prompt_text)),
        ("token", a.token_words(a.token), b.token_words(b.token)),
        ("final norm", a.final_norm_words, b.final_norm_words),
    ]
    told = [f"{name}: {x} against {y}" for name, x, y in named if x != y]
    told += [f"tokens of the prompt: {apart}"] if (apart := read_apart(a, b)) else []
    if a.n_blocks != b.n_blocks:
        told.append(
            f"blocks: {a.n_blocks} against {b.n_blocks}, matched by nearest relative depth "
            "(l - 1) / (L - 1)"
        )
    return told or _digests(a, b)


def differences_told(a: AtToken, b: AtToken) -> str:
    """The same as a sentence."""
    if a is b or (a.key and a.key == b.key):
        return "A and B are the same result."
    told = differences(a, b)
    if told == [_UNKNOWN]:
        return f"Whether they are of the same model is not known: {_ONLY_KEPT}."
    return f"They differ in {', '.join(told)}."


_ONLY_KEPT = (
    "both have one name, and only a result that is kept, as with store=cc.Store(), knows its "
    "weights, settings and code; variant='...' names what was done to a module"
)
_UNDER_ONE_NAME = "the model itself, under one name: its weights, its settings or its code"
_UNKNOWN = f"perhaps the model itself: {_ONLY_KEPT}"


def _digests(a: AtToken, b: AtToken) -> list[str]:
    ours, theirs = (side.identity.get("digest") for side in (a, b))
    if not (ours and theirs):  # measured without a store, which alone asks who a module is
        return [_UNKNOWN]
    return ["how much was stored"] if ours == theirs else [_UNDER_ONE_NAME]


def _weights(result: AtToken) -> str:
    asked = result.request
    stack = f", the {asked.stack}" if asked.stack else ""
    return f"{asked.dtype}{stack}" + f", quantised to {asked.quantize}" * bool(asked.quantize)


def depth_wise(name: str, result: Result) -> DepthResult:
    """A result whose pairs of blocks can be compared; `InputError`, in words, on another."""
    if isinstance(result, DepthResult):
        return result
    if not isinstance(result, Result):
        tables = "; compare_models(table, a, b) compares two models of a table"
        raise InputError(
            f"{name} is {a_type(result)}: expected a result, as measure(...) or "
            f"Store().get(key) gives it{tables * hasattr(result, 'columns')}"
        )
    kind = result.request.kind
    between = "; it is compared with another one between the tokens of the same prompt"
    beside = "; a.plot(figure, twin=b) draws two of one prompt in one figure"
    if kind == "directions":
        beside += (
            ", cross(a, b) compares the directions of two models, and between_prompts([a, b]) "
            "those of two prompts"
        )
    if kind == "trajectory":
        beside = "; a trajectory is compared with another one"
    raise InputError(
        f"{name} is a result of kind {kind!r}, where a depth-wise one is expected: choose another, "
        "or measure its prompt depth-wise, with measure(...) in Python or `coupling "
        "depth` on the command line" + between * (kind in TOKEN_KINDS) + beside * (kind in TWINS)
    )


def _require_k(a: DepthResult, b: DepthResult, k: int) -> None:
    for name, result in (("A", a), ("B", b)):
        if k > result.k_max:
            most = min(a.k_max, b.k_max)
            narrow = min((a.width, "A"), (b.width, "B"))
            more = (
                f", or measure {name} again with a K of {k}"
                if k <= narrow[0]
                else f"; {narrow[1]} has width {narrow[0]}, which no K can pass"
            )
            raise InputError(
                f"K = {k} cannot be compared: {name} ({result.model_name}) holds 1..{result.k_max} "
                f"triplets. Take K = {most} or less{more}"
            )
