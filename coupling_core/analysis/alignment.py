"""Two results side by side: which of their parts belong together, and the difference of those.

Blocks belong together by their numbers where both models have the same L. Where L differs, block l
of the shallower model, of L blocks, lies at the relative depth

    r = (l - 1) / (L - 1)            0 for the first block, 1 for the last

and belongs to the block of the deeper model whose r is nearest, the shallower of two that are
equally near. Nothing is interpolated, so that every number shown is one that was measured; a block
of the deeper model stands for at most one of the shallower. Tokens belong together by their place
in one prompt, and prompts (`comparing_models`) by their text.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float

from coupling_core.analysis.scores import definition_name
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.notebook import Plottable, in_short
from coupling_core.base.records import View
from coupling_core.base.results import DepthResult, Result, TokenMeansResult, TokensResult
from coupling_core.base.results.base import short_prompt
from coupling_core.base.results.scores import weighted_mean
from coupling_core.base.units import counted, percent, rounded, with_difference

if TYPE_CHECKING:  # half a second each to import
    import xarray
    from pandas import DataFrame

FEW = 2
"""So many pairs correlate with 1 or -1 whatever they are."""
MOST_OF_WIDTH = 0.5
"""Share of the narrower width above which the verdict warns of K."""

Row = tuple[object, str]
"""A condition, and the sentence that is said where it holds."""


def sentences(*rows: Row) -> tuple[str, ...]:
    """Those whose condition holds."""
    return tuple(sentence for holds, sentence in rows if holds)


def match_blocks(a: int, b: int) -> list[tuple[int, int]]:
    """Which block of A belongs to which of B, by relative depth, for two numbers of blocks L."""
    if a > b:
        return [(deep, shallow) for shallow, deep in match_blocks(b, a)]
    step = (b - 1) / (a - 1) if a > 1 else 0.0
    # Half way rounds down, to the shallower block; the tolerance is for the rounding of r.
    return [(i + 1, 1 + int(np.ceil(i * step - 0.5 - 1e-9))) for i in range(a)]


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


class MapComparison(Plottable):
    """Scores of A and of B over the same pairs, of blocks or of tokens, at one view.

    The fields of both kinds: the results A and B, `view` (K, definition and role of both),
    `corrected` (whether the chance-corrected score is compared, else c), and the scores of A and B.
    """

    pairs: ClassVar[str]
    """What the means are over."""

    a: Any
    b: Any
    view: View
    corrected: bool
    a_scores: Any
    b_scores: Any

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
        weighed = (self.a_scores.weights > 0) & (self.b_scores.weights > 0)
        return ~np.isnan(self.difference) & weighed

    @abstractmethod
    def _labels(self, rows: np.ndarray, columns: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of a table that name the pairs at these places of the maps."""

    @abstractmethod
    def _coordinates(self) -> dict[str, Any]:
        """What stands along the dimensions of `to_xarray`."""

    def _caveats(self) -> tuple[Row, ...]:
        """What else bears on the difference."""
        return ()

    def mean(self) -> Summary:
        """Means of A, of B and of A - B over the pairs counted, and how alike the two maps are.

        Between tokens in a mean over all pairs of blocks, where a token with itself is another
        thing than two tokens, the correlation is over different tokens.
        """
        a, b = self._means(self.score)
        alike = correlation(*(of[self._correlated] for of in (self.a_values, self.b_values)))
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
        return self.counted

    def columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_pandas`, without pandas, which is slow to import."""
        rows, columns = np.nonzero(self.counted)
        order = np.argsort(-np.abs(self.difference[rows, columns]), kind="stable")
        at = rows[order], columns[order]
        return self._labels(*at) | {name: values[at] for name, values in self._maps.items()}

    @property
    def _maps(self) -> dict[str, Float[np.ndarray, "row column"]]:
        return {"a": self.a_values, "b": self.b_values, "difference": self.difference}

    def to_pandas(self) -> "DataFrame":
        """A row a pair that is counted, the biggest difference first.

        Returns:
            columns that name the pair, and `a` and `b` (the score compared, without a unit) and
            `difference`, A - B. A pair of blocks has the columns `block` and `basis` in A's
            numbers, and `b_block` and `b_basis` in B's; a pair of tokens `token` (of the Jacobian,
            1..n), `other_token` (of the basis), `text` and `other_text`. Its `attrs` say whose A
            and B are.
        """
        from pandas import DataFrame

        table = DataFrame(self.columns())
        table.attrs.update(self.attributes())
        return table

    def to_xarray(self) -> "xarray.Dataset":
        """The maps of A, of B and of their difference.

        Returns:
            variables `a`, `b` and `difference`, and `counted`, the pairs that the means are over,
            which `where(counted)` leaves: over `block` and `basis` in A's numbers, with B's
            beside them as `b_block` and `b_basis`, or over `token` (of the Jacobian, 1..n) and
            `other_token` (of the basis). Its `attrs` say which score it is, and whose A and B are.
        """
        import xarray

        maps = self._maps | {"counted": self.counted}
        named = {name: (self.a_scores.dims, np.array(values)) for name, values in maps.items()}
        return xarray.Dataset(named, coords=self._coordinates(), attrs=self.attributes())

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
        more = sentences(
            (self._chance(), self._chance()),
            (
                of.correlation == of.correlation,
                f"The two maps correlate{over} with r = {rounded(of.correlation, 2)}.",
            ),
            *self._caveats(),
        )
        means = (
            f"A is {a_name}; B is {b_name}. Over {of.pairs} {self.pairs} at K = {self.view.k}"
            f"{definition}, the mean {score} is {a} in A and {b} in B; A - B is {apart}."
        )
        return " ".join([means, *more])

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
            f"{type(self).__name__}(A: {a_name}, B: {b_name}, K = {self.view.k}"
            f"{self.view.unlike_usual}, mean {self.score} A {a}, B {b}, A - B {apart}{alike} over "
            f"{counted(of.pairs, 'pair')})"
        )


def correlation(a: Float[np.ndarray, " pair"], b: Float[np.ndarray, " pair"]) -> float:
    """Pearson's of two scores of the same pairs; NaN of one that is constant, and of two pairs."""
    constant = a.size <= FEW or np.ptp(a) == 0 or np.ptp(b) == 0
    return float("nan") if constant else float(np.corrcoef(a, b)[0, 1])


def attributes_of_both(a: Any, b: Any) -> dict[str, str | float]:
    """The attributes of two results, or of their scores: `a_model`, `b_model` and so on."""
    sides = {"a": a, "b": b}
    return {f"{side}_{name}": it for side in sides for name, it in sides[side].attributes().items()}


def side_names(a: Result, b: Result) -> tuple[str, str]:
    """Who A and B are: their models, and what else of prompt, token, norm and precision differs.

    Between tokens it is said in any case which blocks and tokens were measured.
    """
    names, details = [], []
    for of in (a, b):
        is_between = isinstance(of, TokensResult | TokenMeansResult)
        names.append(of.model_name + f" {of.measured}" * is_between)
        token = "" if is_between else f"token {getattr(of, 'token', None)}"
        details.append((repr(short_prompt(of)), token, of.final_norm_words, of.precision))
    apart = [part for part in zip(*details, strict=True) if part[0] != part[1]]
    ours, theirs = zip(names, *apart, strict=True)
    return ", ".join(ours), ", ".join(theirs)


def differences(a: Result, b: Result) -> list[str]:
    """In what two measurements differ, besides their numbers; a phrase each."""
    if a is b or (a.key and a.key == b.key):
        return ["nothing: A and B are the same result"]
    sides = [
        {
            "model": of.model_name,
            "revision": of.request.revision or "default",
            "weights": _weights(of),
            "width d": of.width,
            "prompt": repr(of.prompt_text),
            "measured": of.measured,
            "final norm": of.final_norm_words,
        }
        for of in (a, b)
    ]
    both = {name: (sides[0][name], sides[1][name]) for name in sides[0]}
    phrases = [f"{name}: {x} against {y}" for name, (x, y) in both.items() if x != y]
    if read := read_apart(a, b):
        phrases.append(f"tokens of the prompt: {read}")
    if a.n_blocks != b.n_blocks:
        matched = ", matched by nearest relative depth (l - 1) / (L - 1)"
        is_matched = isinstance(a, DepthResult)
        phrases.append(f"blocks: {a.n_blocks} against {b.n_blocks}{matched * is_matched}")
    return phrases or [_under_one_name(a, b)]


def _weights(result: Result) -> str:
    asked = result.request
    stack = f", the {asked.stack}" if asked.stack else ""
    return f"{asked.dtype}{stack}" + f", quantised to {asked.quantize}" * bool(asked.quantize)


def _under_one_name(a: Result, b: Result) -> str:
    """What differs of two results of which all that is asked for is the same."""
    ours, theirs = (of.identity.get("digest") for of in (a, b))
    if not (ours and theirs):
        return (
            "the model itself, perhaps: only results of a store know weights, settings and code, "
            "and variant='...' names what was done to a module"
        )
    if ours == theirs:
        return "how much was stored"
    return "the model itself, under one name: its weights, its settings or its code"


def read_apart(a: Result, b: Result) -> str:
    """That the two read one text as other tokens, where they do; "" else."""
    if a.prompt_text != b.prompt_text or np.array_equal(a.token_ids, b.token_ids):
        return ""
    ours, theirs = (f"{counted(len(of.tokens), 'token')}, {of.tokens[0]!r} first" for of in (a, b))
    return f"A reads it as {ours}, and B as {theirs}"


def nearly_whole(k: int, width: int, of: str) -> str:
    """That a K is most of a width, called `of`, as a sentence without its end; else ""."""
    if k <= MOST_OF_WIDTH * width:
        return ""
    return (
        f"K = {k} is {percent(k / width)} of {of}: so many directions are nearly all that there "
        "are, and tell little"
    )
