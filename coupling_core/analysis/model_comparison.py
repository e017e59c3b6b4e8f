"""Two models over the same prompts: how far their coupling differs, and how sure that is.

A prompt that is hard for one model is so for another, so that differences are taken prompt by
prompt; interval and test are Student's of paired differences. Drawing prompts anew would make
intervals of few that are too short: of five, 83 % of them hold the mean where 95 % should.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from coupling_core.analysis.scores import MIN_PROMPTS, p_words, too_few
from coupling_core.base.notebook import Plottable, Table, table_of
from coupling_core.base.records import ALL_BLOCKS, HOW, OF_BLOCKS, Measure
from coupling_core.base.units import counted, interval_told, with_difference
from coupling_core.base.wording import paragraph

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


ROUNDING = 1e-12
"""Numbers are one where they differ by less than this, in units of themselves."""
_USUAL = dict(zip(HOW, ("paper", "A", -1, "include", ""), strict=True))
"""How a score comes about where nothing else is asked for."""


@dataclass(frozen=True, repr=False)
class ModelComparison(Plottable[Literal["differences"]]):
    """How much more coupled one model is than another, over the prompts that both have.

    Its table has one row, whose columns are these arguments without `each`; what is one for `a` and
    one for `b` is a text there, such as "8, 14", and so are the `caveats`. Its only figure is
    "differences": the difference at each prompt, with its mean and interval, and with a colour for
    each value of the column `by` of `each`, which is its category.

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
        each: a row a prompt that both have, in the order in which `a` has them: `prompt`, what else
            the table says of a prompt in every row, such as its `category`, the numbers `a` and
            `b`, and their `difference`.
        reason: why there is no interval or no p; "" where there are both.
        how: what the table says of how the scores came about: their `definition` and `role`, the
            `token` measured, the `final_norm`, and over which `blocks` they are, as these were
            named. Each has a column of its own in the table.
        k_of_each: the K of `a` and that of `b`, where a share of their widths was asked for.
        column: of which `a` and `b` are values: "model", or where two ways to look at one model are
            compared, `blocks`, `role`, `definition`, `final_norm` or `token`.
        model: which one, where not two of them are compared; "" else.
        caveats: what else is unlike of the two and bears on the difference, a sentence each.
    """

    figures: ClassVar = {"differences": "model_comparison.prompt_differences"}

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
    each: "DataFrame" = field(compare=False)
    reason: str = ""
    how: Mapping[str, Any] = field(default_factory=dict)
    k_of_each: tuple[int, int] | None = None
    column: str = "model"
    model: str = ""
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.each.attrs.update(self._about)

    def __repr__(self) -> str:
        k = "" if np.isnan(self.k) else f", K = {self.k:g}"
        return f"ModelComparison({self._means}: {self.difference_words}, n = {self.n}{k})"

    def __str__(self) -> str:
        return self.verdict

    @property
    def enough(self) -> bool:
        """Whether there are enough prompts for a claim: 40."""
        return self.n >= MIN_PROMPTS

    @property
    def names(self) -> tuple[str, str]:
        """What `a` and `b` are called in sentences."""
        of = "" if self.column == "model" else self.column.replace("_", " ") + " "
        first, second = (
            f"{one} blocks" if (self.column, one) == (OF_BLOCKS, ALL_BLOCKS) else of + one
            for one in (self.a, self.b)
        )
        return first, second

    @property
    def number(self) -> str:
        """What was compared, in words."""
        return self.measure.replace("_", " ") + " score" * (self.measure in get_args(Measure))

    @property
    def _means(self) -> str:
        a, b, _ = with_difference(self.a_mean, self.b_mean, self.difference)
        return f"{self.names[0]} {a}, {self.names[1]} {b}"

    @property
    def difference_words(self) -> str:
        """The difference and how sure it is."""
        apart = with_difference(self.a_mean, self.b_mean, self.difference)[2]
        low, high = interval_told(self.low, self.high, digits=len(apart.partition(".")[2]))
        interval = f"95\u00a0%: {low} to {high}" * bool(np.isfinite(self.low))
        p = p_words(self.p) if self.enough else ""  # a p would be a claim
        return f"a difference of {apart} ({', '.join(filter(None, (interval, self.reason or p)))})"

    @property
    def verdict(self) -> str:
        """The means of both, their difference, how sure it is, and what else bears on it."""
        lack = f" ({self.without} that one of the two lacks, or without a number, left out)"
        few = f"; fewer than {MIN_PROMPTS} prompts bear no claim" * (not self.enough)
        return paragraph(
            f"{self._means}: {self.difference_words} in the mean {self.number}{self._how()}, over "
            f"n = {counted(self.n, 'prompt')} that both have{lack * bool(self.without)}{few}.",
            *self.caveats,
        )

    def _how(self) -> str:
        """At which K, of which model, and what is not as usual of the score."""
        at = "" if np.isnan(self.k) else f" at K = {self.k:g}"
        if self.k_of_each:
            first, second = self.k_of_each
            both = f", {first} of {self.a} and {second} of {self.b}"
            at += f" of the width{f' ({first})' if first == second else both}"
        other = ", ".join(
            f"{name.replace('_', ' ')} {value!r}"
            for name, value in self.how.items()
            if value not in (_USUAL[name], "")
        )
        return at + f" ({other})" * bool(other) + f" of {self.model}" * bool(self.model)

    def _table(self) -> Table:
        values = {**vars(self), **self.how} | {"caveats": " ".join(self.caveats)}
        values = {name: value for name, value in values.items() if name not in ("each", "how")}
        if self.k_of_each:
            values["k_of_each"] = ", ".join(map(str, self.k_of_each))
        return [values], self._about

    @property
    def _about(self) -> dict[str, object]:
        names = ("a", "b", "measure", "kind", "column", "model")
        said = {**{name: getattr(self, name) for name in names}, **self.how}
        said["k"] = int(self.k) if self.k >= 1 else self.k
        return {name: it for name, it in said.items() if it == it and it not in ("", None)}

    def means_by(self, by: str | Sequence[str]) -> "DataFrame":
        """The difference in each group of the prompts, such as each category.

        Args:
            by: what `each` has beside the numbers, or several, whose values make the groups; an
                empty cell is a group too.

        Returns:
            a row a group, in the order in which they come: its values, `n`, the means `a` and `b`,
            their `difference`, `low` and `high` (ends of its 95 % interval), `p`, and the `reason`
            where one of them is missing; its `attrs` are those of `each`.

        Raises:
            KeyError: where the prompts have no such column.
        """
        columns = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
        groups = self.each.groupby(columns, sort=False, dropna=False)
        rows = [dict(zip(columns, values, strict=True)) | paired(of) for values, of in groups]
        return table_of(rows, self._about).rename(columns={"a_mean": "a", "b_mean": "b"})


def paired(each: "DataFrame") -> dict[str, Any]:
    """The means of `a` and `b`, their difference, its 95 % interval and p, and what these lack.

    Two to four prompts have an interval, as everywhere, and no p.
    """
    from scipy import stats

    a, b, apart = (each[name].to_numpy(np.float64) for name in ("a", "b", "difference"))
    n = len(each)
    low = high = p = float("nan")
    reason = too_few(n, "prompts")
    if n > 1 and np.ptp(apart) <= ROUNDING * abs(apart).max():
        reason = "the difference is the same for every prompt"
    elif n > 1:
        found = stats.ttest_1samp(apart, 0)
        low, high = map(float, found.confidence_interval())
        p, reason = float(found.pvalue), ""
        if too_few(n, "prompts"):
            p, reason = float("nan"), f"no p, and wide: of {n} prompts"
    means = {"a_mean": a, "b_mean": b, "difference": apart}
    numbers = {name: float(of.mean()) for name, of in means.items()}
    return {"n": n, **numbers, "low": low, "high": high, "p": p, "reason": reason}
