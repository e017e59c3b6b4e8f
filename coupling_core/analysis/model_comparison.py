"""Two models over the same prompts: how far their coupling differs, and how sure that is.

A prompt that is hard for one model is so for another, so that differences are taken prompt by
prompt; interval and test are Student's of paired differences. Drawing prompts anew would make
intervals of few that are too short: of five, 83 % of them hold the mean where 95 % should.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from coupling_core.analysis.compare import nearly_whole
from coupling_core.analysis.scores import MIN_PROMPTS, k_of, mean_interval
from coupling_core.base.choosing import nearest
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.drawing import Drawing, known_figure
from coupling_core.base.equality import SameContent
from coupling_core.base.errors import InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import ALL_BLOCKS, HOW, OF_BLOCKS, Measure
from coupling_core.base.showing import Drawn
from coupling_core.base.units import counted, interval_told, rounded, with_difference

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


ROUNDING = 1e-12
"""Numbers are one where they differ by less than this, in units of themselves."""
_EACH = {"each": True}
"""Marks what has a value for each prompt."""


@dataclass(frozen=True, repr=False, eq=False)
class ModelComparison(SameContent, Drawn):
    """How much more coupled one model is than another, over the prompts that both have.

    Args:
        a: the one model, as the table names it, or what of its `column` is compared.
        b: the other.
        measure: which number of the table; scores have no unit.
        kind: what was compared.
        k: at which K, or below 1 at which share of each one's width; NaN where the kind has none.
        a_mean: of `a`, over the prompts that both have.
        b_mean: of `b`.
        difference: `a_mean` - `b_mean`, the mean over prompts.
        low: lower end of its 95 % interval, by Student's t of the differences; NaN without one.
        high: its upper end.
        p: two-sided, of the paired t test; NaN without one, as of fewer than 5 prompts.
        n: prompts that both have.
        without: prompts that only one of them has, or that have no number.
        reason: why there is no interval or no p; "" where there are both.
        definition: of the score; "" where the table does not say which.
        role: "A" or "B"; "" likewise.
        token: the one measured; None likewise.
        final_norm: whether it belongs to the last block; "" likewise.
        blocks: over whose pairs the scores are taken, as they were named; "" for all.
        width: d of the narrower model; 0 where the table does not say it.
        uncertified: of how many of the results compared not every SVD is certified.
        k_of_each: the K of `a` and that of `b`, where a share of their widths was asked for.
        a_chance: mean chance floor of `a`, where the raw score is compared; None else.
        b_chance: that of `b`.
        a_floor_error: standard error of the floors of `a`, where they are means over random bases
            and the table says it; None else.
        b_floor_error: that of `b`.
        column: of which `a` and `b` are values: "model", or where two ways to look at one model are
            compared, `blocks`, `role`, `definition`, `final_norm` or `token`.
        model: which one, where not two of them are compared; "" else.
        untrained: those of which the weights are a random draw, as the table names them.
        last_block_of: "a" or "b", where that alone has the last block in it, and with it the final
            norm; "" else.
        spans: over how many blocks those of `a` and those of `b` go, from the first to the last,
            where that differs; of other kinds than `depth`, how many the two models have; None
            else.
        widths: d of `a` and of `b`, where two models differ in it; None else.
        tokens: of a prompt in the mean, as `a` and as `b` reads it, where that differs; None else.
        shared_blocks: how many blocks are among those of `a` and of `b`, where two sets of blocks
            are compared; 0 else.
        prompts: those that both have, in the order in which `a` has them.
        of_a: the number of `a` for each of them.
        of_b: that of `b`.
        own: further columns of the table that say the same of a prompt in every row, such as its
            `category`, by name.
    """

    _elsewhere = dict.fromkeys(("pvalue", "p_value"), "it is .p")

    a: str
    b: str
    measure: str
    kind: str
    k: float
    a_mean: float
    b_mean: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    without: int
    reason: str = ""
    definition: str = ""
    role: str = ""
    token: int | None = None
    final_norm: str = ""
    blocks: str = ""
    width: int = 0
    uncertified: int = 0
    k_of_each: tuple[int, int] | None = None
    a_chance: float | None = None
    b_chance: float | None = None
    a_floor_error: float | None = None
    b_floor_error: float | None = None
    column: str = "model"
    model: str = ""
    untrained: tuple[str, ...] = ()
    last_block_of: str = ""
    spans: tuple[int, int] | None = None
    widths: tuple[int, int] | None = None
    shared_blocks: int = 0
    tokens: tuple[float, float] | None = None
    prompts: tuple[str, ...] = field(default=(), metadata=_EACH)
    of_a: tuple[float, ...] = field(default=(), metadata=_EACH)
    of_b: tuple[float, ...] = field(default=(), metadata=_EACH)
    own: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False, metadata=_EACH)

    def __repr__(self) -> str:
        a, b, _ = self._told()
        k = "" if np.isnan(self.k) else f", K = {self.k:g}"
        which = f"{self.names[0]} {a}, {self.names[1]} {b}: {self.difference_words}"
        return f"ModelComparison({which}, n = {self.n}{k})"

    @property
    def enough(self) -> bool:
        """Whether there are enough prompts for a claim: 40."""
        return self.n >= MIN_PROMPTS

    def _told(self) -> tuple[str, str, str]:
        return with_difference(self.a_mean, self.b_mean, self.difference)

    @property
    def difference_words(self) -> str:
        """The difference and how sure it is."""
        from coupling_core.analysis.statistics.resampling import p_words

        apart = self._told()[2]
        low, high = interval_told(self.low, self.high, digits=len(apart.partition(".")[2]))
        which = f"95\u00a0%: {low} to {high}"
        p = p_words(self.p) if self.enough else ""  # a p would be a claim
        known = which if np.isfinite(self.low) else "", self.reason or p
        return f"a difference of {apart} ({', '.join(filter(None, known))})"

    @property
    def number(self) -> str:
        """What was compared, in words."""
        return self.measure.replace("_", " ") + " score" * (self.measure in get_args(Measure))

    @property
    def verdict(self) -> str:
        """The means of both, their difference, and how sure it is."""
        at = "" if np.isnan(self.k) else f" at K = {self.k:g}"
        if self.k_of_each:
            first, second = self.k_of_each
            both = f", {first} of {self.a} and {second} of {self.b}"
            each = f" ({first})" if first == second else both
            at += f" of the width{each}"
        at += self._how() + (f" of {self.model}" if self.model else "")
        a, b, _ = self._told()
        return (
            f"{self.names[0]} {a}, {self.names[1]} {b}: "
            f"{self.difference_words} in the mean {self.number}{at}, over n = "
            f"{counted(self.n, 'prompt')} that both have{self._left_out()}"
            f"{self._few()}{self._sampled()}.{self._caveats()}"
        )

    def _caveats(self) -> str:
        """What else is unlike of the two, a sentence each with a blank before it."""
        every = (
            self._last_block(),
            self._unlike(),
            self._of_k(),
            self._quantities(),
            self._tokens(),
            self._draws(),
            self._floors(),
            self._uncertified(),
            self._nearly_whole(),
        )
        return "".join(every)

    @property
    def names(self) -> tuple[str, str]:
        """What `a` and `b` are called in sentences."""
        of = "" if self.column == "model" else self.column.replace("_", " ") + " "
        first, second = (
            f"{one} blocks" if (self.column, one) == (OF_BLOCKS, ALL_BLOCKS) else of + one
            for one in (self.a, self.b)
        )
        return first, second

    def _few(self) -> str:
        """That so few prompts bear no claim, where they do not."""
        if self.enough:
            return ""
        return f"; fewer than {MIN_PROMPTS} prompts bear no claim"

    def _tokens(self) -> str:
        """That the two read the same texts as other tokens, where they do."""
        if self.tokens is None:
            return ""
        ours, theirs = (f"{n:g}" for n in self.tokens)
        return (
            f" The two read the prompts as other tokens, {ours} and {theirs} in the mean: of one "
            "model that is enough to move the scores, as by a token put first."
        )

    def _last_block(self) -> str:
        """That one side alone has the last block, which is of another kind, where that is so."""
        if not self.last_block_of:
            return ""
        which = self.names["ab".index(self.last_block_of)]
        which = f"the blocks of {which}" if self.column == "model" else which
        return (
            f" The last block is among {which} alone, with the final norm in it where the model "
            "has one: without it the difference may be another."
        )

    def _unlike(self) -> str:
        """That two sets of blocks are unlike in their distances, or have pairs in common."""
        told = ""
        if self.spans is not None and self.kind != "depth":
            told = (
                f" The two have {self.spans[0]} and {self.spans[1]} blocks, and the number may "
                "change with how many there are: a part of the difference may be that alone."
            )
        elif self.spans is not None:
            told = (
                f" The two go over {self.spans[0]} and {self.spans[1]} blocks: scores change with "
                "the distance of two blocks, and a part of the difference may be that alone."
            )
        if self.shared_blocks > 1:
            told += (
                f" {self.shared_blocks} blocks are in both, and the scores of their pairs with them"
                ", so that the two are not independent."
            )
        return told

    def _of_k(self) -> str:
        """That one K is not the same share of two widths."""
        if self.widths is None or not self.k >= 1:
            return ""
        first, second = (f"{100 * self.k / width:.2g}\u00a0%" for width in self.widths)
        return (
            f" K = {self.k:g} is {first} of the width of {self.a} ({self.widths[0]}) and {second} "
            f"of that of {self.b} ({self.widths[1]}): a share of each, such as k=0.1, treats both "
            "alike."
        )

    def _quantities(self) -> str:
        """That two scores are two quantities."""
        if self.column != "definition":
            return ""
        return (
            " Two definitions are two quantities: the difference is one of scores, and not of "
            "coupling."
        )

    def _draws(self) -> str:
        """That an untrained model is one of many, where one is compared."""
        if not self.untrained:
            return ""
        return (
            f" The weights of {' and '.join(self.untrained)} are one random draw"
            f"{' each' * (len(self.untrained) > 1)}"
            + ": interval and p are over prompts, and not over such draws"
            * bool(np.isfinite(self.low))
            + "."
        )

    def _floors(self) -> str:
        """What chance alone gives of raw scores, which mean nothing without it."""
        if self.a_chance is None or self.b_chance is None:
            return ""
        a, b, apart = with_difference(self.a_chance, self.b_chance, self.a_chance - self.b_chance)
        return (
            f" Chance gives {a} and {b}, which differ by {apart}; interval and p leave that in, "
            "and those of the measure 'corrected' do not."
        )

    def _uncertified(self) -> str:
        """That some results failed their certificate, where some did."""
        n = self.uncertified
        told = f"{counted(n, 'result')} of {2 * self.n} {'is' if n == 1 else 'are'} not certified"
        return f" {told}: an SVD did not pass its checks." * bool(n)

    def _nearly_whole(self) -> str:
        """What is to be said of a K that is most of a width; nothing where it is not."""
        if np.isnan(self.k) or not self.width:
            return ""
        told = nearly_whole(
            k_of(self.k if self.k < 1 else int(self.k), self.width),
            self.width,
            f"the {'' if self.model else 'narrower '}model's width ({self.width})",
        )
        return f" {told}; a tenth is k={max(1, self.width // 10)}." if told else ""

    def _how(self) -> str:
        """What is not as usual of the score, in brackets."""
        usual = dict(zip(HOW, ("paper", "A", -1, "include", ""), strict=True))
        said = {name: getattr(self, name) for name in usual}
        other = [n for n, value in said.items() if value not in (usual[n], None, "")]
        told = ", ".join(f"{name.replace('_', ' ')} {said[name]!r}" for name in other)
        return f" ({told})" if told else ""

    def _sampled(self) -> str:
        """That the floors are not exact, where they are not."""
        of = {self.a, self.b} if self.column == "definition" else {self.definition}
        if self.measure != "corrected" or not of & {*sampled_definitions()}:
            return ""
        whose = ""
        if self.column == "definition" and not {self.a, self.b} <= {*sampled_definitions()}:
            whose = f" of {self.a if self.a in sampled_definitions() else self.b}"
        told = f"; the floors{whose} are means over 8 random bases, the same for all prompts, "
        a, b = self.a_floor_error, self.b_floor_error
        if a is None and b is None:
            return f"{told}an error that interval and p leave out"
        a, b = a or 0.0, b or 0.0  # floors of another definition are exact
        errors = f"{rounded(a, 4)} and {rounded(b, 4)}" if not whose else rounded(a or b, 4)
        told += f"with a standard error of {errors}, "
        is_within = abs(self.difference) < 2 * float(np.hypot(a, b))
        return told + (
            "from which the difference cannot be told, whatever interval and p say"
            if is_within
            else "which interval and p leave out"
        )

    def _left_out(self) -> str:
        n = self.without
        which = "that one of the two lacks, or without a number,"
        return f" ({n} {which} {'is' if n == 1 else 'are'} left out)" * bool(n)

    def to_pandas(self) -> "DataFrame":
        """One row, whose columns are what `help(ModelComparison)` tells of its arguments.

        What each prompt has is left out, and in `by_prompt`.

        What is one for `a` and one for `b` is a text, such as "8, 14". Its `attrs` are those of
        `by_prompt`.
        """
        from pandas import DataFrame

        row = {
            name: ", ".join(map(str, value)) if isinstance(value, tuple) else value
            for name, value in self._alike().items()
        }
        table = DataFrame([row])
        table.attrs |= self._of()
        return table

    def _alike(self) -> dict[str, Any]:
        """What it says of all prompts together."""
        names = [item.name for item in fields(self) if not item.metadata]
        return {name: getattr(self, name) for name in names}

    def by_prompt(self) -> "DataFrame":
        """A row a prompt that both have.

        Returns:
            columns `prompt`, what else the table says of the prompts, the numbers `a` and `b`, and
            their `difference`; its `attrs` say of which models, measure, kind, K and definition.
        """
        from pandas import DataFrame

        table = DataFrame({"prompt": self.prompts, **self.own})
        table = table.assign(a=self.of_a, b=self.of_b)
        table["difference"] = differences(np.array(self.of_a), np.array(self.of_b))
        table.attrs |= self._of()
        return table

    def _of(self) -> dict[str, Any]:
        """Of which models, measure, kind, K and definition it is."""
        of = {"a", "b", "column", "model", "measure", "kind", "k", *HOW}
        told = {name: value for name, value in self._alike().items() if name in of}
        told["k"] = int(self.k) if self.k >= 1 else self.k
        return {
            name: value
            for name, value in told.items()
            if value == value and value not in ("", None)
        }

    def _require_own(self, column: Any) -> None:
        if not isinstance(column, str):
            raise InputError(f"a column makes the groups, such as 'category': {column!r} came")
        if column not in self.own:
            raise InputError(
                f"the prompts have no column {column!r} of their own{nearest(column, self.own)}: "
                f"they have {', '.join(self.own) or 'none'}, with one value a prompt, and not the "
                "same for all"
            )

    def means_by(self, by: str | Sequence[str]) -> "DataFrame":
        """The difference in each group of the prompts, such as each category.

        Args:
            by: one of `own`, or several, whose values make the groups; an empty cell is a group
                too.

        Returns:
            a row a group, in the order in which they come: its values, `n`, the means `a` and `b`,
            their `difference`, `low` and `high` (ends of its 95 % interval), `p`, and the `reason`
            where one of them is missing; its `attrs` are those of `by_prompt`.

        Raises:
            InputError: where the prompts have no such column.
        """
        from pandas import DataFrame

        columns = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
        for column in columns or (None,):
            self._require_own(column)
        table = self.by_prompt()
        rows = []
        for values, of in table.groupby(columns, sort=False, dropna=False):
            low, high, p, reason = paired_interval(of["difference"].to_numpy(np.float64))
            means = {name: float(of[name].mean()) for name in ("a", "b", "difference")}
            sure = {"low": low, "high": high, "p": p, "reason": reason}
            rows.append(dict(zip(columns, values, strict=True)) | {"n": len(of)} | means | sure)
        groups = DataFrame(rows)
        groups.attrs |= table.attrs
        return groups

    def plot(
        self, figure: Literal["differences"] = "differences", *, by: str = "category"
    ) -> Drawing:
        """The difference at each prompt, with its mean and interval.

        Args:
            figure: "differences", the only one.
            by: one of `own`, whose values have a colour each; no colours where there is none.

        Raises:
            InputError: on another name.
        """
        known_figure(figure, ("differences",))
        if by != "category":
            self._require_own(by)
        drawn: Drawing = kind_of("depth").part("views").differences(self, by)
        return drawn

    def __str__(self) -> str:
        return self.verdict


def differences(
    a: Float[np.ndarray, " prompt"], b: Float[np.ndarray, " prompt"]
) -> Float[np.ndarray, " prompt"]:
    """`a` - `b`; 0 where they are equal but for the rounding of their last digits."""
    apart = a - b
    rounding = ROUNDING * np.maximum(abs(a), abs(b))
    return np.where(abs(apart) <= rounding, 0.0, apart)


def paired_interval(differences: Float[np.ndarray, " prompt"]) -> tuple[float, float, float, str]:
    """Ends of the 95 % interval, and p, of a mean of paired differences, and what they lack.

    Two to four prompts have an interval, as everywhere, and no p.
    """
    from scipy import stats

    from coupling_core.analysis.statistics.resampling import too_few

    n = len(differences)
    if n < 2:
        return float("nan"), float("nan"), float("nan"), too_few(n, "prompts")
    if np.ptp(differences) <= ROUNDING * abs(differences).max():
        reason = "the difference is the same for every prompt"
        return float("nan"), float("nan"), float("nan"), reason
    found = mean_interval(differences)
    if too_few(n, "prompts"):
        return found.low, found.high, float("nan"), f"no p, and wide: of {n} prompts"
    return found.low, found.high, float(stats.ttest_1samp(differences, 0).pvalue), ""
