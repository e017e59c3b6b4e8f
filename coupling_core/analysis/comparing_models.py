"""compare_models(...): two models of a table, or two ways to look at one, prompt by prompt."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coupling_core.analysis.alignment import nearly_whole, of_two_widths
from coupling_core.analysis.model_comparison import ROUNDING, ModelComparison, paired
from coupling_core.base.blocks import Blocks, told
from coupling_core.base.callers import warn_caller
from coupling_core.base.choosing import nearest
from coupling_core.base.definitions import sampled_definitions
from coupling_core.base.errors import InputError, refuse
from coupling_core.base.records import ALL_BLOCKS, HOW, OF_BLOCKS, OF_SHARES, OWN, parse_blocks
from coupling_core.base.units import counted, ranges, rounded, with_difference
from coupling_core.base.wording import Row, sentences

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
            another kind of measurement has.

    Raises:
        InputError: where the table lacks a column, one of the models, or a prompt of both, or has
            several K or kinds and none is chosen; where their rows differ in definition, role,
            token, final norm or blocks, and that is not what is compared; where the table has
            several models, and they are not.
    """
    from coupling_core.analysis.statistics.means import (
        labels,
        require_alike,
        require_columns,
        require_measure,
    )

    require_columns(table, "model", "prompt", "kind", "k", column)
    models = list(map(str, table["model"].unique()))
    require_measure(table, measure)
    a, b = (_as_named(table, each) if column == OF_BLOCKS else str(each) for each in (a, b))
    table = table.assign(model=labels(table, column))  # from here on, what is compared
    held = list(table["model"].unique())
    lacking = next((name for name in (a, b) if name not in held), "")
    refuse(
        (a == b, f"a and b are both {a!r}: give two values of the column {column}"),
        (
            column != "model" and len(models) > 1,
            f"the table has several models ({', '.join(models)}), and two values of its {column} "
            "are compared for one: choose the rows of one model",
        ),
        (
            lacking,
            f"the table has no {column} {lacking!r}{nearest(lacking, held)}: it has "
            f"{', '.join(map(repr, held))}",
        ),
    )
    rows = table[table["model"].isin((a, b))]
    kind = kind or str(_the_one(rows, "kind"))
    rows, k = _at(rows[rows["kind"] == kind], k)
    require_alike(rows.drop(columns=column) if column in HOW else rows)
    for name, of in rows.groupby("model") if column == "model" else [(models[0], rows)]:
        _require_one_model(of, str(name))
    each = _aligned(rows, a, b, measure, k)
    ks = rows.groupby("model")["k"].first()
    how = {name: rows[name].tolist()[0] for name in HOW if name in rows and name != column}
    found = ModelComparison(
        a=a,
        b=b,
        measure=measure,
        kind=kind,
        k=float("nan") if k is None else k,
        **paired(each),
        without=rows["prompt"].nunique() - len(each),
        each=each,
        k_of_each=(int(ks[a]), int(ks[b])) if k is not None and k < 1 else None,
        column=column,
        model="" if column == "model" else models[0],
        how={name: of if isinstance(of, str) else int(of) for name, of in how.items() if of == of},
    )
    of_both = rows["prompt"].map(str).isin(each["prompt"])
    return replace(found, caveats=_caveats(found, rows[of_both]))


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


def _the_one(rows: "DataFrame", column: str, words: str = "") -> Any:
    """The only value that the rows have; None where they have none."""
    held = sorted(rows[column].dropna().unique())
    words = words or ", ".join(map(str, held))
    refuse(
        (len(held) > 1, f"the table has several {column}: {words}; choose one with {column}=...")
    )
    return next(iter(held), None)


def _at(rows: "DataFrame", k: float | None) -> tuple["DataFrame", float | None]:
    """The rows at a K, or at a share of each width, and which: the only one where none is given."""
    from coupling_core.analysis.statistics.means import at_k, held_ks, require_columns

    if k is None and OF_SHARES in rows:
        shares = rows[OF_SHARES].unique()
        k = float(shares[0]) if len(shares) == 1 and shares[0] == shares[0] else None
    if k is None and (k := _the_one(rows, "k", held_ks(rows))) is None:
        return rows, None
    if k < 1:
        require_columns(rows, "width")
    return at_k(rows, float(k) if k < 1 else int(k)), float(k)


def _require_one_model(rows: "DataFrame", name: str) -> None:
    """Refuse rows of two models that have one name, as far as `measure_many` says of them.

    Of modules whose content is not the same it is a warning: some change as they are used.
    """
    if "family" not in rows:  # an id or a revision is a column of the prompts' own
        return
    rows = rows[rows["family"].notna()].reindex(columns=["id", "revision", "trained"])
    for column, values in rows.items():
        held = sorted(values.dropna().map(str).unique())
        if len(held) < 2:
            continue
        words = (
            f"the rows of {name!r} are of several models, with the {column} "
            f"{' and '.join(map(repr, held))}: give models names that differ, as "
            'measure_many(prompts, {"one": ..., "other": ...}) does'
        )
        refuse((not all(one.startswith(OWN) for one in held), words))
        warn_caller(words)


def _aligned(rows: "DataFrame", a: str, b: str, measure: str, k: float | None) -> "DataFrame":
    """The numbers of both and their difference, a row a prompt for which both have one.

    A difference is 0 where it is but the rounding of their last digits.
    """
    again = rows["prompt"][rows.duplicated(["model", "prompt"])].tolist()
    refuse(
        (
            again,
            f"the table has several rows of one model and prompt, such as {again[:1]}: give models "
            "names that differ, take one condition at a time, or drop the duplicates "
            "(coupling_core.sweeps.read_table reads prompts such as NA, which pandas takes for "
            "none)",
        )
    )
    wide = rows.pivot(index="prompt", columns="model", values=measure).reindex(columns=[a, b])
    wide = wide.reindex(rows["prompt"][rows["model"] == a]).astype(np.float64)
    wide = wide[np.isfinite(wide.to_numpy()).all(axis=1)]
    at = "" if k is None else f", at K = {k:g} or a share of each one's width, such as k=0.1"
    refuse(
        (
            wide.empty,
            f"{a!r} and {b!r} have no prompt in common at which both have {measure}: measure both "
            f"over the same prompts{at}",
        )
    )
    first = rows.drop_duplicates("prompt").set_index("prompt")
    each = first.loc[wide.index, _beside(rows)].assign(a=wide[a], b=wide[b]).reset_index()
    is_rounding = np.isclose(each["a"], each["b"], rtol=ROUNDING, atol=0)
    each["difference"] = np.where(is_rounding, 0.0, each["a"] - each["b"])
    return each.assign(prompt=each["prompt"].map(str))


def _beside(rows: "DataFrame") -> list[str]:
    """The columns that say something of the prompts themselves.

    They have one value a prompt, and not the same for all, but for categories.
    """
    texts = rows[[name for name in rows if name not in _OF_ROWS]].map(str)  # empty is a value too
    is_one = (texts.groupby(rows["prompt"]).nunique() == 1).all()
    tells = (texts.nunique() > 1) | ((texts.columns == "category") & texts.any())
    return list(texts.columns[is_one & tells])


def _caveats(found: ModelComparison, rows: "DataFrame") -> tuple[str, ...]:
    """What else is unlike of the two and bears on the difference, a sentence each.

    The rows are what the table says of both, of the prompts that both have, at the K compared.
    """
    from coupling_core.analysis.statistics.means import uncertified

    of_models, names, values = found.column == "model", found.names, [found.a, found.b]
    averaged, known = ["chance", "floor_error", "tokens"], ["width", "layers", "k"]
    told_of = ["model", *averaged, *known, "trained", OF_BLOCKS]
    of_each = rows.reindex(columns=told_of).groupby("model")
    # NaN is what the table does not say, and compares as neither alike nor other.
    first = of_each.first().loc[values]
    width, layers, k = first[known].to_numpy(np.float64).T
    chance, errors, tokens = of_each[averaged].mean().loc[values].to_numpy(np.float64).T
    blocks = first[OF_BLOCKS].astype(object).fillna(ALL_BLOCKS).tolist()
    is_untrained = first["trained"].map(str) == "False"
    untrained = dict.fromkeys(compress(names if of_models else [found.model] * 2, is_untrained))
    definitions = values if found.column == "definition" else [found.how.get("definition", "")] * 2
    is_sampled = [one in sampled_definitions() for one in definitions]
    sampled = " and ".join(compress(names, is_sampled))
    far = "an error that interval and p leave out"
    if told_errors := " and ".join(rounded(error, 4) for error in errors if error == error):
        is_within = abs(found.difference) < 2 * float(np.sqrt(np.nansum(errors**2)))
        far = f"a standard error of {told_errors}, which interval and p leave out"
        far += " and from which the difference cannot be told" * is_within
    (a, b), called = names, [f"the width of {name}" for name in names]
    whole = next(filter(None, map(nearly_whole, k, width, called)), "")
    floors = with_difference(chance[0], chance[1], chance[0] - chance[1])
    failed = uncertified(rows)
    return sentences(
        *_of_blocks(found, layers, values if found.column == OF_BLOCKS else blocks),
        (
            of_models and found.k >= 1 and abs(width[0] - width[1]) > 0,
            of_two_widths(found.k, a, width[0], b, width[1]),
        ),
        (whole, f"{whole}."),
        (
            found.column == "definition",
            "Two definitions are two quantities: the difference is one of scores, and not of "
            "coupling.",
        ),
        (
            abs(tokens[0] - tokens[1]) > 0,
            f"The two read the prompts as other tokens, {tokens[0]:.3g} and {tokens[1]:.3g} on "
            "average, which is enough to move the scores, as by a token put first.",
        ),
        (
            untrained,
            f"The weights of {' and '.join(untrained)} are one random draw: no interval covers "
            "others.",
        ),
        (
            found.measure == "coupling" and np.isfinite(chance).all(),
            f"Chance gives {floors[0]} and {floors[1]}, {floors[2]} apart; interval and p leave "
            "that in, and those of the measure 'corrected' do not.",
        ),
        (
            found.measure == "corrected" and sampled,
            f"The chance floors of {sampled} are means over 8 random bases, the same for all "
            f"prompts, with {far}.",
        ),
        (
            failed,
            f"Not certified: {counted(failed, 'result')} of {2 * found.n}, of which an SVD did not "
            "pass its checks.",
        ),
    )


def _of_blocks(found: ModelComparison, layers: np.ndarray, named: Sequence[str]) -> tuple[Row, ...]:
    """What bears on the difference of the blocks of the two, by their names."""
    of_models = found.column == "model"
    blocks: list[tuple[int, ...]] = [(), ()]
    if found.kind == "depth" and np.isfinite(layers).all():
        blocks = [parse_blocks(of, int(n)) for of, n in zip(named, layers, strict=True)]
    extent = layers if of_models else layers * np.nan
    if all(blocks):
        extent = np.array([of[-1] - of[0] + 1 for of in blocks])
    shared = len({*blocks[0]} & {*blocks[1]}) if found.column == OF_BLOCKS else 0
    has_last = [n in of for n, of in zip(layers, blocks, strict=True)]
    return (
        (
            all(blocks) and has_last[0] != has_last[1] and found.how.get("final_norm") != "exclude",
            f"The last block is among {'the blocks of ' * of_models}{found.names[has_last[1]]} "
            "alone, with the final norm in it where the model has one: without it the difference "
            "may be another.",
        ),
        (
            abs(extent[0] - extent[1]) > 0,
            f"The two go over {extent[0]:g} and {extent[1]:g} blocks, and a part of the difference "
            "may be that alone.",
        ),
        (shared > 1, f"{shared} blocks are in both, so that the two are not independent."),
    )
