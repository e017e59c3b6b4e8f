"""Two models over the same prompts: how far their coupling differs, and how sure that is.

A prompt that is hard for one model is so for another, so that differences are taken prompt by
prompt; interval and test are Student's of paired differences. Drawing prompts anew would make
intervals of few that are too short: of five, 83 % of them hold the mean where 95 % should.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
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
from coupling_core.base.keywords import known_keywords
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import HOW, PERFORMANCES, Measure
from coupling_core.base.showing import Drawn
from coupling_core.base.units import counted, interval_told, rounded, with_difference

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


_OF_ROWS = {
    *("model", "id", "revision", "family", "step", "trained", "prompt", "source", "kind", "k"),
    "k_share",
    *("parameters", "layers", "width", "training_tokens", "certified", "key"),
    *("coupling", "chance", "corrected", "alignment", "a", "b", "difference"),
    *HOW,
    *PERFORMANCES,
}
"""Columns of a table that do not stand beside its prompts, or have their place in ours."""
_EACH = {"each": True}
"""Marks what has a value for each prompt."""


@dataclass(frozen=True, repr=False, eq=False)
class ModelComparison(SameContent, Drawn):
    """How much more coupled one model is than another, over the prompts that both have.

    Args:
        a: the one model, as the table names it.
        b: the other.
        measure: which number of the table; scores have no unit.
        kind: what was compared.
        k: at which K, or below 1 at which share of each one's width; NaN where the kind has none.
        a_mean: of `a`, over the prompts that both have.
        b_mean: of `b`.
        difference: `a_mean` - `b_mean`, the mean over prompts.
        low: lower end of its 95 % interval, by Student's t of the differences; NaN without one.
        high: its upper end.
        p: two-sided, of the paired t test; NaN without one.
        n: prompts that both have.
        without: prompts that only one of them has, or that have no number.
        reason: why there is no interval; "" where there is one.
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
    prompts: tuple[str, ...] = field(default=(), metadata=_EACH)
    of_a: tuple[float, ...] = field(default=(), metadata=_EACH)
    of_b: tuple[float, ...] = field(default=(), metadata=_EACH)
    own: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False, metadata=_EACH)

    def __repr__(self) -> str:
        return f"ModelComparison({self})"

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

        low, high = interval_told(self.low, self.high)
        sure = self.reason or f"95\u00a0%: {low} to {high}, {p_words(self.p)}"
        return f"a difference of {self._told()[2]} ({sure})"

    @property
    def number(self) -> str:
        """What was compared, in words."""
        return self.measure + " score" * (self.measure in get_args(Measure))

    @property
    def verdict(self) -> str:
        """The means of both, their difference, and how sure it is."""
        at = "" if np.isnan(self.k) else f" at K = {self.k:g}"
        if self.k_of_each:
            at += " of the width, {} of {} and {} of {}".format(
                self.k_of_each[0], self.a, self.k_of_each[1], self.b
            )
        at += self._how()
        few = "" if self.enough else f"; fewer than {MIN_PROMPTS} prompts can overstate coupling"
        a, b, _ = self._told()
        return (
            f"{self.a} {a}, {self.b} {b}: "
            f"{self.difference_words} in the mean {self.number}{at}, over n = {self.n} "
            f"prompt{'s' * (self.n != 1)} that both have{self._left_out()}{few}{self._sampled()}."
            f"{self._floors()}{self._uncertified()}{self._nearly_whole()}"
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
            f"the narrower model's width ({self.width})",
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
        if self.measure != "corrected" or self.definition not in sampled_definitions():
            return ""
        told = "; the floors are means over 8 random bases, the same for all prompts, "
        a, b = self.a_floor_error, self.b_floor_error
        if a is None or b is None:
            return f"{told}an error that interval and p leave out"
        told += f"with a standard error of {rounded(a, 4)} and {rounded(b, 4)}, "
        is_within = abs(self.difference) < 2 * float(np.hypot(a, b))
        return told + (
            "from which the difference cannot be told, whatever interval and p say"
            if is_within
            else "which interval and p leave out"
        )

    def _left_out(self) -> str:
        n = self.without
        return f" ({n} without a number in both {'is' if n == 1 else 'are'} left out)" * bool(n)

    def to_pandas(self) -> "DataFrame":
        """One row, whose columns are its arguments, but for what each prompt has."""
        from pandas import DataFrame

        return DataFrame([self._alike()])

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
        table["difference"] = table["a"] - table["b"]
        of = {"a", "b", "measure", "kind", "k", *HOW}
        told = {name: value for name, value in self._alike().items() if name in of}
        table.attrs |= {name: value for name, value in told.items() if value == value}
        return table

    def plot(self, figure: Literal["differences"] = "differences") -> Drawing:
        """The difference at each prompt, with its mean and interval.

        Args:
            figure: "differences", the only one.

        Raises:
            InputError: on another name.
        """
        known_figure(figure, ("differences",))
        drawn: Drawing = kind_of("depth").part("views").differences(self)
        return drawn

    def __str__(self) -> str:
        return self.verdict


@known_keywords
def compare_models(
    table: "DataFrame",
    a: str,
    b: str,
    *,
    k: int | float | None = None,
    kind: str | None = None,
    measure: str = "corrected",
) -> ModelComparison:
    """Compare two models of a table over the prompts that both have.

    Args:
        table: of `measure_many` or of a sweep: a row for each model, prompt and K.
        a: the one, as the column `model` has it.
        b: the other.
        k: at which K, or below 1 at which share of each model's width, where a sweep has it; None
            where the table has one.
        kind: which kind of measurement; None where the table has one.
        measure: the column compared: `corrected`, `coupling` or `alignment`, or a number that
            another kind of measurement has, such as `line_shape`.

    Raises:
        InputError: where the table lacks a column, one of the models, or a prompt of both, or has
            several K or kinds and none is chosen; where the two are one; where their rows differ in
            definition, role, token or final norm.
    """
    from coupling_core.analysis.statistics.means import (
        require_alike,
        require_columns,
        require_measure,
        uncertified,
    )

    if isinstance(table, str):
        raise InputError(
            "a table of measure_many or of a sweep comes first, and then two of its models: "
            f'compare_models(table, "{table}", ...)'
        )
    if a == b:
        raise InputError(
            f"a and b are both {a!r}: expected two of the models that the table's column model has"
        )
    require_columns(table, "model", "prompt", "kind", "k")
    if table.empty:
        raise InputError("the table has no row, so that there is nothing to compare")
    table, a, b = table.assign(model=table["model"].map(str)), str(a), str(b)  # a file's 0 is "0"
    require_measure(table, measure)
    if not (k is None or isinstance(k, Real)):
        raise InputError(f"k is one K of the table, a number such as 8, and {k!r} came")
    kind = str(_the_one(table, "kind", kind))
    of_kind = table[table["kind"] == kind]
    if k is None:
        _require_shared_k(of_kind, a, b)
    chosen, at = _at(of_kind, k)
    for name in (a, b):
        if name in set(of_kind["model"]) - set(at["model"]):
            raise InputError(_without_k(of_kind[of_kind["model"] == name], name, chosen))
    of_both = at[at["model"].isin((a, b))]
    require_alike(of_both)
    first, second = (_by_prompt(at, name, measure) for name in (a, b))
    both = [prompt for prompt in first if prompt in second]
    if not both:
        raise InputError(f"{a!r} and {b!r} have no prompt in common in this table")
    x, y = (np.array([of[prompt] for prompt in both]) for of in (first, second))
    low, high, p, reason = _interval(x - y)
    floors = [_floor_error(of_both[of_both["model"] == name]) for name in (a, b)]
    chance = _chance(of_both[of_both["prompt"].isin(both)], a, b, measure)
    return ModelComparison(
        a=a,
        b=b,
        measure=measure,
        kind=kind,
        k=float("nan") if chosen is None else float(chosen),
        a_mean=float(x.mean()),
        b_mean=float(y.mean()),
        difference=float((x - y).mean()),
        low=low,
        high=high,
        p=p,
        n=len(both),
        without=of_both["prompt"].nunique() - len(both),
        reason=reason,
        prompts=tuple(map(str, both)),
        of_a=tuple(x.tolist()),
        of_b=tuple(y.tolist()),
        width=_width(of_both),
        uncertified=uncertified(of_both[of_both["prompt"].isin(both)]),
        k_of_each=_k_of_each(of_both, a, b) if chosen is not None and chosen < 1 else None,
        own=_own(of_both, both),
        a_chance=chance[0],
        b_chance=chance[1],
        a_floor_error=floors[0],
        b_floor_error=floors[1],
        **_how(at),
    )


def _how(table: "DataFrame") -> dict[str, Any]:
    """How the scores of rows that are alike in it came about, as far as they say so."""
    said = {name: table[name].tolist()[0] for name in HOW if name in table}
    known = {name: value for name, value in said.items() if value == value}
    return known | ({"token": int(known["token"])} if "token" in known else {})


def _k_of_each(table: "DataFrame", a: str, b: str) -> tuple[int, int]:
    """The K of two models at a share of the width of each."""
    first, second = (int(table[table["model"] == name]["k"].iloc[0]) for name in (a, b))
    return first, second


def _chance(
    table: "DataFrame", a: str, b: str, measure: str
) -> tuple[float, float] | tuple[None, None]:
    """The mean chance floors of two models, where raw scores are compared."""
    if measure != "coupling" or "chance" not in table:
        return None, None
    first, second = (float(table[table["model"] == name]["chance"].mean()) for name in (a, b))
    return first, second


def _width(table: "DataFrame") -> int:
    """Of the narrowest model; 0 where it is not known."""
    known = table["width"].dropna() if "width" in table else ()
    return int(min(known, default=0))


def _own(table: "DataFrame", prompts: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
    """The columns that stand beside prompts, with what they say of each of some."""
    others = [str(name) for name in table if name not in _OF_ROWS]
    beside = [name for name in others if _is_beside(table, name)]
    firsts = table.drop_duplicates("prompt").set_index("prompt").loc[list(prompts)]
    return {name: tuple(firsts[name].tolist()) for name in beside}


def _is_beside(table: "DataFrame", name: str) -> bool:
    """Whether a column has one value a prompt, and not the same for all."""
    known = table[name].astype(str)
    each = known.groupby(table["prompt"]).nunique()
    return bool((each == 1).all() and known.nunique() > 1)


def _floor_error(rows: "DataFrame") -> float | None:
    """The standard error of a model's floors: its mean, since all prompts share the bases."""
    if "floor_error" not in rows or rows["floor_error"].isna().all():
        return None
    return float(rows["floor_error"].mean())


def _at(table: "DataFrame", k: float | None) -> tuple[float | None, "DataFrame"]:
    """The K that is meant, or the share of each width, and the rows at it."""
    from coupling_core.analysis.statistics.means import at_k, held_ks, require_columns

    if k is not None and 0 < k < 1:
        require_columns(table, "width")
        return k, at_k(table, float(k))
    chosen = _the_one(table, "k", k, held_ks(table))
    return chosen, table if chosen is None else at_k(table, int(chosen))


def _without_k(rows: "DataFrame", name: str, k: float | None) -> str:
    """What is said of a model that the table has at other K alone, with the likely cause."""
    from coupling_core.analysis.statistics.means import held_ks

    held, width = held_ks(rows), _width(rows)
    assert k is not None, "a model without any K has rows at none"
    wanted = k_of(k, width) if k < 1 else k
    of_width = f" ({k:g} of its width {width})" if k < 1 else ""
    told = f"the table has {name!r} at K = {held}, and not at {wanted:g}{of_width}: "
    if width and wanted > width:
        return f"{told}its width is {width}, beyond which there is no K; choose one that both have"
    return f"{told}choose one that both have, or measure it at that K too"


def _require_shared_k(table: "DataFrame", a: str, b: str) -> None:
    """Refuse models of which each has other K, with the K that both could have."""
    first, second = (set(table[table["model"] == name]["k"].dropna()) for name in (a, b))
    if first and second and not first & second:
        most = min(max(first), max(second))
        width = _width(table[table["model"].isin((a, b))])
        k = f"{min(most, max(1, width // 10)) if width else most:g}"
        raise InputError(
            f"{a!r} and {b!r} have no K in common ({min(first):g} and {min(second):g}): measure "
            f"both at one, as measure_many(..., k={k}) does, or at a share of each one's width, "
            "k=0.1 here and there"
        )


def _the_one(table: "DataFrame", column: str, wanted: Any, told: str = "") -> Any:
    """The value that is chosen, or the only one that the table has; None where it has none."""
    held = sorted(table[column].dropna().unique())
    told = told or ", ".join(map(str, held)) or "none"
    if wanted is None and len(held) > 1:
        raise InputError(f"the table has several {column}: {told}; choose one with {column}=...")
    if wanted is not None and wanted not in held:
        raise InputError(f"the table has no {column} = {wanted}: it has {told}")
    return wanted if wanted is not None else next(iter(held), None)


def _by_prompt(table: "DataFrame", model: str, measure: str) -> dict[str, float]:
    """A model's finite numbers by their prompt."""
    rows = table[table["model"] == model]
    if rows.empty:
        held = ", ".join(map(repr, table["model"].unique()))
        meant = nearest(model, list(table["model"].unique()))
        raise InputError(f"the table has no model {model!r}{meant}: it has {held}")
    if rows["prompt"].isna().any():
        raise InputError(
            f"rows of {model!r} have no prompt. pandas takes prompts such as NA or null for none: "
            "coupling_core.sweeps.read_table reads such a file as it was"
        )
    if (again := rows["prompt"].duplicated()).any():
        raise InputError(
            f"the table has several rows of {model!r} with one prompt, such as "
            f"{rows['prompt'][again].iloc[0]!r}: give models names that differ, and each prompt "
            'once, as table.drop_duplicates(["model", "prompt", "k"]) leaves them; or of prompts '
            "under several conditions, take the rows of one at a time, such as "
            'table[table.category == "one"]'
        )
    numbers = zip(rows["prompt"], rows[measure].to_numpy(np.float64), strict=True)
    found = {prompt: number for prompt, number in numbers if np.isfinite(number)}
    if not found:
        raise InputError(
            f"the table has no {measure} of {model!r}, where every row is empty: it is a number of "
            "another kind of measurement, or no pair has a score, as of a model of one "
            "block, or of `preprint` at K = 1"
        )
    return found


def _interval(differences: Float[np.ndarray, " prompt"]) -> tuple[float, float, float, str]:
    """Interval and p of a mean of paired differences, or why there are none."""
    from scipy import stats

    from coupling_core.analysis.statistics.resampling import too_few

    n = len(differences)
    if reason := too_few(n, "prompts"):
        return float("nan"), float("nan"), float("nan"), reason
    if np.ptp(differences) == 0:
        reason = "the difference is the same for every prompt"
        return float("nan"), float("nan"), float("nan"), reason
    found = mean_interval(differences)
    return found.low, found.high, float(stats.ttest_1samp(differences, 0).pvalue), ""
