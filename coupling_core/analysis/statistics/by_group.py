"""Means of a table of many prompts by what they are of, such as their category."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coupling_core.analysis.scores import MIN_NUMBERS, known_interval
from coupling_core.analysis.statistics.means import require_columns, require_measure, uncertified
from coupling_core.base.callers import warn_caller
from coupling_core.base.errors import InputError
from coupling_core.base.records import ALL_BLOCKS, HOW, OF_BLOCKS, OF_GRAPHS, OF_SHARES, OVER_TOKENS
from coupling_core.base.units import counted

APART = ("model", "kind", "k")
"""Columns whose values are never brought together in one mean."""


def means_by(
    table: pd.DataFrame, by: str | Sequence[str], *, measure: str = "corrected"
) -> pd.DataFrame:
    """Mean over the prompts of each group of a table, with its 95 % interval by Student's t.

    Models, by their names, and kinds, K, definitions, roles, tokens, final norms, blocks,
    thresholds of graphs and the tokens that effects are averaged over are kept apart whether or not
    they are named.

    Args:
        table: of `measure_many` or of a sweep: a row for each model, prompt and K.
        by: the columns whose values make the groups, such as `category`, or one of the prompts'
            own.
        measure: the column that is averaged: `corrected`, `coupling` or `alignment`, or a number
            that another kind of measurement has.

    Returns:
        a row a group, in the order in which the groups come: those of the columns above that have
        several values, the columns of `by` (with `prompt_` before one that is named as one of the
        numbers), `n` (prompts that have a number), `without` (those that have none), `mean`,
        `median`, `low` and `high` (ends of the interval; NaN of one prompt). Its `attrs` say the
        measure, of the columns above those that have one value, and where some rows are of results
        that are not certified, how many.

    Raises:
        InputError: where the table lacks a column or has no row, or the measure has no numbers.

    Warns:
        UserWarning: where rows come more than once, as of two tables that were joined; where one
            group has several measurements of a prompt, as of two models of one name; and where
            groups have two to four prompts, whose intervals are wide.
    """
    named = [by] if isinstance(by, str) else list(by)
    require_columns(table, *APART, *named)
    require_measure(table, measure)
    if table.empty:
        raise InputError("the table has no row, so that there is nothing to average")
    optional = (OF_SHARES, *HOW, *OF_GRAPHS, OVER_TOKENS)
    apart = (*APART, *(name for name in optional if name in table))
    if OF_BLOCKS in table:
        table = table.assign(**{OF_BLOCKS: table[OF_BLOCKS].fillna(ALL_BLOCKS)})
    _warn_of_repeated(table, tuple(dict.fromkeys((*apart, *named))))
    several = [name for name in apart if table[name].nunique(dropna=False) > 1]
    columns = list(dict.fromkeys([*several, *named]))
    codes = [pd.factorize(table[name], use_na_sentinel=False)[0] for name in columns]
    rows = []
    for _, group in table.groupby(codes):  # in the order in which their values come
        found = known_interval(group[measure].to_numpy(np.float64))
        numbers = {"n": found.n, "without": len(group) - found.n} | vars(found)
        of_group = {
            f"prompt_{name}" if name in numbers else name: group[name].iloc[0] for name in columns
        }
        rows.append(of_group | numbers)
    groups = pd.DataFrame(rows)
    # As Python's own numbers, which a Parquet file can tell too.
    alike = {name: table[name].tolist()[0] for name in apart if name not in several}
    groups.attrs |= {name: one for name, one in alike.items() if not pd.isna(one)}
    groups.attrs["measure"] = measure
    if n := uncertified(table):
        groups.attrs["uncertified"] = n
    if groups["n"].between(2, MIN_NUMBERS - 1).any():
        few = int((groups["n"] < MIN_NUMBERS).sum())
        warn_caller(
            f"{few} of {counted(len(groups), 'group')} with fewer than {MIN_NUMBERS} prompts: an "
            "interval of so few is wide, and nothing is claimed of it"
        )
    return groups


def _warn_of_repeated(table: pd.DataFrame, apart: Sequence[str]) -> None:
    """Say where a group has several rows of a measurement, or several measurements of a prompt."""
    if "key" not in table:
        return
    if "prompt" in table:
        own = pd.Series(range(len(table)), table.index).map(str)  # what nothing keeps is its own
        keyed = table.assign(key=table["key"].where(table["key"].astype(bool), own))
        groups = keyed.groupby([*dict.fromkeys((*apart, "prompt"))], dropna=False)
        if n := int((groups["key"].nunique() > 1).sum()):
            warn_caller(
                f"{counted(n, 'prompt')} with several measurements in one group, averaged as if "
                "each were a prompt: are there two models of one name, or one measured in two "
                "ways? Give models names that differ, or choose the rows"
            )
    of = [*(name for name in apart if table[name].nunique(dropna=False) > 1), "key"]
    if n := int(table[table["key"].astype(bool)].duplicated(of).sum()):
        told = str(of).replace("'", '"')
        warn_caller(
            f"{counted(n, 'row')} of measurements that have a row already, so that intervals are "
            f"narrower than they should be: table.drop_duplicates({told}) leaves each once"
        )
