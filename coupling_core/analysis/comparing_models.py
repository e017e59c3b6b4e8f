"""compare_models(...): two models of a table, or two ways to look at one, prompt by prompt."""

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from coupling_core.analysis.model_comparison import ModelComparison, differences, paired_interval
from coupling_core.analysis.scores import k_of
from coupling_core.base.blocks import Blocks, told
from coupling_core.base.callers import warn_caller
from coupling_core.base.choosing import nearest, none_of
from coupling_core.base.errors import InputError
from coupling_core.base.keywords import known_keywords
from coupling_core.base.records import ALL_BLOCKS, HOW, OF_BLOCKS, OF_SHARES, OWN, parse_blocks
from coupling_core.base.units import ranges

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame


CompareColumn = Literal["model", "blocks", "role", "definition", "final_norm", "token"]
"""Columns of which two values can be compared."""

_OF_ROWS = {
    *("model", "prompt", "k", "k_share", "certified", "key", "measured"),
    *("coupling", "chance", "corrected", "alignment", "a", "b", "difference"),
    *HOW,
}
"""Columns of a table that do not stand beside its prompts, or have their place in ours."""


@known_keywords
def compare_models(
    table: "DataFrame",
    a: str,
    b: str,
    *,
    column: CompareColumn = "model",
    k: int | float | None = None,
    kind: str | None = None,
    measure: str = "corrected",
) -> ModelComparison:
    """Compare two models of a table over the prompts that both have.

    Args:
        table: of `measure_many` or of a sweep: a row for each model, prompt and K.
        a: the one, as the column `model` has it.
        b: the other.
        column: what else `a` and `b` may be two values of, in the rows of one model: `blocks`,
            `role`, `definition`, `final_norm` or `token`, as of tables of `measure_many` that
            `pandas.concat` joined. Rows that do not say their blocks are of "all".
        k: at which K, or below 1 at which share of each model's width, where a sweep has it; None
            where the table has one.
        kind: which kind of measurement; None where the table has one.
        measure: the column compared: `corrected`, `coupling` or `alignment`, or a number that
            another kind of measurement has, such as `line_shape`.

    Raises:
        InputError: where the table lacks a column, one of the models, or a prompt of both, or has
            several K or kinds and none is chosen; where the two are one; where their rows differ in
            definition, role, token, final norm or blocks, and that is not what is compared; where
            the table has several models, and they are not.
    """
    from coupling_core.analysis.statistics.means import (
        labels,
        require_alike,
        require_columns,
        require_measure,
        uncertified,
    )

    if isinstance(table, str):
        is_file = table.lower().endswith((".csv", ".parquet"))
        first = f'sweeps.read_table("{table}"), "one"' if is_file else f'table, "{table}"'
        raise InputError(
            "a table of measure_many or of a sweep comes first, and then two of its models: "
            f"compare_models({first}, ...)"
        )
    if column not in get_args(CompareColumn):
        of_prompts = column not in ("prompt", "k") and column in table
        groups = f"; means_by(table, {column!r}) has the means of other groups" * of_prompts
        raise InputError(none_of("the column", column, get_args(CompareColumn)) + groups)
    require_columns(table, "model", "prompt", "kind", "k", column)
    if column == OF_BLOCKS:
        a, b = (_as_named(table, one) for one in (a, b))
    a, b = str(a), str(b)
    if a == b:
        raise InputError(
            f"a and b are both {a!r}: expected two values of the table's column {column}"
        )
    if table.empty:
        raise InputError("the table has no row, so that there is nothing to compare")
    models = table["model"].map(str).unique().tolist()
    if column != "model" and len(models) > 1:
        raise InputError(
            f"the table has several models ({', '.join(models)}), and two values of its {column} "
            f"are compared for one: choose it, as table[table.model == {models[0]!r}] does"
        )
    table = table.assign(model=labels(table, column))  # from here on, what is compared
    require_measure(table, measure)
    if not (k is None or isinstance(k, Real)):
        raise InputError(f"k is one K of the table, a number such as 8, and {k!r} came")
    kind = str(_the_one(table, "kind", kind))
    of_kind = table[table["kind"] == kind]
    if k is None:
        k = _only_share(of_kind, a, b)
    if k is None:
        _require_shared_k(of_kind, a, b)
    chosen, at = _at(of_kind, k)
    for name in (a, b):
        if name in set(of_kind["model"]) - set(at["model"]):
            raise InputError(_without_k(of_kind[of_kind["model"] == name], name, chosen))
    of_both = at[at["model"].isin((a, b))]
    if column == "model":
        for name in (a, b):
            _require_one_model(of_both[of_both["model"] == name], name)
    else:
        _require_one_model(of_both, models[0])
    require_alike(of_both.drop(columns=column) if column in HOW else of_both)
    first, second = (_by_prompt(at, name, measure, column) for name in (a, b))
    both = [prompt for prompt in first if prompt in second]
    if not both:
        raise InputError(f"{a!r} and {b!r} have no prompt in common in this table")
    x, y = (np.array([of[prompt] for prompt in both]) for of in (first, second))
    apart = differences(x, y)
    low, high, p, reason = paired_interval(apart)
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
        difference=float(apart.mean()),
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
        widths=_widths(of_both, a, b) if column == "model" else None,
        tokens=_tokens(of_both[of_both["prompt"].isin(both)], a, b),
        column=column,
        model="" if column == "model" else models[0],
        untrained=_untrained(of_both, models),
        **(_of_blocks if kind == "depth" else _of_depths)(of_both, a, b, column),
        **{name: value for name, value in _how(of_both).items() if name != column},
    )


def _how(table: "DataFrame") -> dict[str, Any]:
    """How the scores of rows that are alike in it came about, as far as they say so."""
    said = {name: table[name].tolist()[0] for name in HOW if name in table}
    known = {name: value for name, value in said.items() if value == value}
    return known | ({"token": int(known["token"])} if "token" in known else {})


def _untrained(table: "DataFrame", models: Sequence[str]) -> tuple[str, ...]:
    """The models whose weights were never trained, as far as the table says so.

    Args:
        table: of what is compared.
        models: their names, or the one of which two ways are compared.
    """
    if "trained" not in table:
        return ()
    never = table["model"][table["trained"].map(str) == "False"].unique()
    return tuple(never) if len(models) > 1 else tuple(models)[: len(never)]


def _of_blocks(table: "DataFrame", a: str, b: str, column: CompareColumn) -> dict[str, Any]:
    """What is not alike of the blocks of two: which has its last one, and over how many they go."""
    if "layers" not in table or table["layers"].isna().any():
        return {}
    rows = [table[table["model"] == name] for name in (a, b)]
    depths = [int(of["layers"].iloc[0]) for of in rows]
    first, second = (
        _blocks(of, n, name, column) for of, n, name in zip(rows, depths, (a, b), strict=True)
    )
    has_last = (depths[0] in first, depths[1] in second)
    without = "final_norm" in table and (table["final_norm"] == "exclude").all()
    spans = (first[-1] - first[0] + 1, second[-1] - second[0] + 1)
    return {
        "shared_blocks": len({*first} & {*second}) if column == OF_BLOCKS else 0,
        "last_block_of": "" if without or has_last[0] == has_last[1] else "ab"[has_last[1]],
        "spans": spans if spans[0] != spans[1] else None,
    }


def _of_depths(table: "DataFrame", a: str, b: str, column: CompareColumn) -> dict[str, Any]:
    """How many blocks two models have, where they differ in it."""
    if column != "model" or "layers" not in table or table["layers"].isna().any():
        return {}
    depths = tuple(int(table["layers"][table["model"] == name].iloc[0]) for name in (a, b))
    return {"spans": depths if depths[0] != depths[1] else None}


def _blocks(rows: "DataFrame", n: int, name: str, column: CompareColumn) -> tuple[int, ...]:
    """The blocks that scores are of, rising."""
    held = rows[OF_BLOCKS].iloc[0] if OF_BLOCKS in rows else None
    named = name if column == OF_BLOCKS else held if isinstance(held, str) else ALL_BLOCKS
    return parse_blocks(named, n)


def _as_named(table: "DataFrame", blocks: Blocks) -> str:
    """Blocks as the tables of `measure_many` name them, however they are given here."""
    name = told(blocks)
    depths = table["layers"].dropna().unique().tolist() if "layers" in table else []
    if name in set(table[OF_BLOCKS].map(str)) or len(depths) != 1:
        return name
    try:
        chosen = parse_blocks(name, int(depths[0]))
    except InputError:
        return name
    return ALL_BLOCKS if len(chosen) == depths[0] else ranges(chosen)


def _only_share(table: "DataFrame", a: str, b: str) -> float | None:
    """The share of each width at which alone two models were measured; None where K are there."""
    if OF_SHARES not in table:
        return None
    held = table[OF_SHARES][table["model"].isin((a, b))].unique()
    return float(held[0]) if len(held) == 1 and held[0] == held[0] else None


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


def _tokens(table: "DataFrame", a: str, b: str) -> tuple[float, float] | None:
    """How many tokens a prompt has in the mean, as each reads it; None where that is alike."""
    if "tokens" not in table:
        return None
    ours, theirs = (
        table[table["model"] == name].drop_duplicates("prompt").set_index("prompt")["tokens"]
        for name in (a, b)
    )
    if ours.isna().any() or theirs.isna().any() or ours.eq(theirs.reindex(ours.index)).all():
        return None
    return round(float(ours.mean()), 1), round(float(theirs.mean()), 1)


def _widths(table: "DataFrame", a: str, b: str) -> tuple[int, int] | None:
    """Those of two models, where they differ and are known."""
    if "width" not in table:
        return None
    held = [table["width"][table["model"] == name].dropna().unique() for name in (a, b)]
    if any(len(of) != 1 for of in held) or held[0][0] == held[1][0]:
        return None
    return int(held[0][0]), int(held[1][0])


def _require_one_model(table: "DataFrame", name: str) -> None:
    """Refuse rows of two models that have one name, as far as `measure_many` says of them.

    Of modules whose content is not the same it is a warning: some change as they are used.
    """
    if "family" not in table:  # an id or a revision is a column of the prompts' own
        return
    table = table[table["family"].notna()]
    for column in ("id", "revision", "trained"):
        held = table[column].dropna().map(str).unique() if column in table else ()
        if len(held) < 2:
            continue
        differing = f"the {column} {' and '.join(map(repr, sorted(held)))}"
        remedy = 'measure_many(prompts, {"one": ..., "other": ...}) gives models names that differ'
        if all(one.startswith(OWN) for one in held):
            warn_caller(f"are the rows of {name!r} of one module? They have {differing}: {remedy}")
            continue
        raise InputError(
            f"the rows of {name!r} are of several models, with {differing}: {remedy}, or choose "
            "the rows"
        )


def _own(table: "DataFrame", prompts: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
    """The columns that stand beside prompts, with what they say of each of some."""
    others = [str(name) for name in table if name not in _OF_ROWS]
    beside = [name for name in others if _is_beside(table, name)]
    firsts = table.drop_duplicates("prompt").set_index("prompt").loc[list(prompts)]
    return {name: tuple(firsts[name].tolist()) for name in beside}


def _is_beside(table: "DataFrame", name: str) -> bool:
    """Whether a column has one value a prompt, and not the same for all, but for categories."""
    known = table[name].map(str)  # an empty cell is a value too
    each = known.groupby(table["prompt"]).nunique(dropna=False)
    is_told = known.nunique(dropna=False) > 1 or (name == "category" and known.any())
    return bool((each == 1).all() and is_told)


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


def _by_prompt(
    table: "DataFrame", model: str, measure: str, column: CompareColumn
) -> dict[str, float]:
    """The finite numbers of a model, or of what else is compared, by their prompt."""
    rows = table[table["model"] == model]
    if rows.empty:
        held = ", ".join(map(repr, table["model"].unique()))
        meant = nearest(model, list(table["model"].unique()))
        others = [name for name in get_args(CompareColumn) if name in table and name != column]
        of = [name for name in others if model in set(table[name].dropna())]
        meant = f" ({model!r} is of its {of[0]}: column={of[0]!r} compares these)" if of else meant
        raise InputError(f"the table has no {column} {model!r}{meant}: it has {held}")
    if rows["prompt"].isna().any():
        raise InputError(
            f"rows of {model!r} have no prompt. pandas takes prompts such as NA or null for none: "
            "coupling_core.sweeps.read_table reads such a file as it was"
        )
    if (again := rows["prompt"].duplicated()).any():
        of = ["model", *([] if column == "model" else [column]), "prompt", "k"]
        of += [OF_SHARES] * (OF_SHARES in table)
        apart = str(of).replace("'", '"')
        names = "give models names that differ, and " * (column == "model")
        raise InputError(
            f"the table has several rows of {model!r} with one prompt, such as "
            f"{rows['prompt'][again].iloc[0]!r}: {names}each prompt once, as "
            f"table.drop_duplicates({apart}) leaves them; or of prompts under several conditions, "
            "take the rows of one condition at a time"
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
