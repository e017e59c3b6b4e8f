"""The mean coupling of each model over its prompts at one K: what other statistics are over."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from coupling_core.analysis.scores import k_of, known_interval
from coupling_core.base.choosing import nearest
from coupling_core.base.errors import InputError
from coupling_core.base.records import (
    ALL_BLOCKS,
    HOW,
    MODEL_SIZES,
    OF_BLOCKS,
    OF_GRAPHS,
    OF_SHARES,
    PERFORMANCES,
    Measure,
    ModelSubset,
)

COLUMNS = ("model", "id", "family", "step", "trained", *MODEL_SIZES, "prompt", "k", "chance")
"""What a sweep's table must have besides the measure."""


@dataclass(frozen=True, eq=False)
class ModelMeans:
    """Mean coupling of each model.

    Args:
        measure: which column of the sweep's table was averaged.
        k: the same K for all models, or a share of each model's width (see `k_of`).
        rows: a row a model, with the columns
            model, id, family: as in the sweep's table;
            run: the training run that a checkpoint is of; a model that is none is its own run;
            step, trained, parameters, layers, width: of the model, NaN unknown;
            training_tokens: NaN unknown, and where there were none: 0 has no logarithm;
            loss: held-out, in nats a token; score: of the leaderboard, in %; NaN unknown;
            k: number of singular triplets;
            coupling: mean of the measure over prompts, NaN where no prompt has one;
            low, high: 95 % interval of that mean over prompts, NaN below two prompts;
            chance: what coupling is by chance: 0, or the mean floor where the measure is raw;
            prompts: number of prompts averaged; without: prompts that had no number.
        absent: models of the table that were not measured at this K.
    """

    measure: Measure
    k: int | float
    rows: pd.DataFrame
    absent: tuple[str, ...] = ()

    @property
    def k_name(self) -> str:
        """The K in words."""
        return f"K = {self.k:g}" + " of the width" * (self.k < 1)


def model_means(table: pd.DataFrame, k: int | float, measure: Measure = "corrected") -> ModelMeans:
    """Mean coupling of every model of a sweep's table over its prompts, at one K (see `k_of`)."""
    require_columns(table, *COLUMNS, measure)
    at = at_k(table, k)
    rows = [_mean(rows, measure) for _, rows in at.groupby("model", sort=False)]
    absent = table["model"][~table["model"].isin(at["model"])].unique()
    return ModelMeans(measure, k, pd.DataFrame(rows), tuple(absent))


def means_by_k(table: pd.DataFrame, measure: Measure = "corrected") -> dict[int, ModelMeans]:
    """`model_means` at every K that the table has, rising."""
    return {int(k): model_means(table, int(k), measure) for k in np.sort(table["k"].unique())}


def _last_of_run(rows: pd.DataFrame) -> "pd.Series[bool]":
    return rows["step"].isna() | (rows["step"] == rows.groupby("run")["step"].transform("max"))


class Subset(NamedTuple):
    """Some of the models: which, in words, and whether each row of `ModelMeans` is one."""

    title: str
    keep: Callable[[pd.DataFrame], "pd.Series[bool]"]


SUBSETS: dict[ModelSubset, Subset] = {
    "all": Subset("all models", lambda rows: rows["model"].notna()),
    "7b": Subset("7B models only", lambda rows: rows["parameters"].between(6.5e9, 7.5e9)),
    "above-45": Subset("score > 45", lambda rows: rows["score"] > 45),
    "trained": Subset("trained models only", lambda rows: rows["trained"]),
    "last": Subset("the last checkpoint of each training run", _last_of_run),
    "tokens-known": Subset(
        "models whose training tokens are known", lambda rows: rows["training_tokens"].notna()
    ),
}
"""By name. The first three are the preprint's Table 4; the others are ours."""


def subset(means: ModelMeans, name: ModelSubset) -> ModelMeans:
    """The models of a named subset; it may be empty."""
    kept = means.rows[SUBSETS[name].keep(means.rows)]
    return replace(means, rows=kept.reset_index(drop=True))


def at_k(table: pd.DataFrame, k: int | float) -> pd.DataFrame:
    """The rows at this K or share of each width; of a K asked for in both ways, one."""
    if k < 1:
        wanted = table["width"].map(lambda width: k_of(k, width), na_action="ignore")
    else:
        wanted = pd.Series(k, table.index)
    found = table[table["k"] == wanted]
    if found.empty:
        raise InputError(
            f"no model of the table was measured at K = {k:g}: it holds {held_ks(table)}; choose "
            "one of these, or measure again with that K"
        )
    if OF_SHARES not in found:
        return found
    ways = found[OF_SHARES].fillna(0.0)
    return found[ways == ways.groupby(found["model"]).transform("min")]


def held_ks(table: pd.DataFrame) -> str:
    """Every K of a table, and every share of a width, as they were asked for."""
    shares = table[OF_SHARES] if OF_SHARES in table else pd.Series(np.nan, table.index)
    own, of_width = table["k"][shares.isna()].dropna(), shares.dropna()
    every = [*np.sort(own.unique()), *np.sort(of_width.unique())]
    told = [f"{k:g} of the width" if k < 1 else f"{k:g}" for k in every]
    return ", ".join(told) or "none"


def uncertified(table: pd.DataFrame) -> int:
    """Of how many rows not every SVD is certified; 0 where the table does not say it."""
    if "certified" not in table:
        return 0
    return int((table["certified"].map(str) == "False").sum())


def require_columns(table: pd.DataFrame, *names: str) -> None:
    """Refuse a table that lacks a column."""
    missing = [name for name in dict.fromkeys(names) if name not in table]
    if missing:
        held = list(map(str, table))
        meant = nearest(missing[0], held) * (missing[0] not in get_args(Measure))
        raise InputError(
            f"the table lacks {', '.join(missing)}{meant}: expected that of a sweep, a row for "
            "each model, prompt and K, as `coupling sweep run` writes it from what is stored; it "
            f"has {', '.join(held) or 'no column'}"
        )


def require_measure(table: pd.DataFrame, measure: str) -> None:
    """Refuse a column that has no measured numbers to be averaged."""
    facts = {*COLUMNS, *HOW, "certified", "line", "p", *OF_GRAPHS, OF_SHARES} - {"chance"}
    numbers = [str(name) for name in table.select_dtypes("number") if name not in facts]
    if measure in numbers:
        return
    why = nearest(measure, numbers)
    if measure in table.select_dtypes(exclude=["number", "bool"]):
        why = ": coupling_core.sweeps.read_table reads a file with empty cells as it was"
    raise InputError(
        f"{measure!r} is not a column of measured numbers{why}; choose one with measure=..., of "
        f"{', '.join(numbers) or 'which the table has none'}"
    )


_USUAL = {"definition": "paper", "role": "A", "final_norm": "include", OF_BLOCKS: ALL_BLOCKS}
"""What tables without these columns have."""


def labels(table: pd.DataFrame, column: str) -> pd.Series:
    """The values of a column as texts; what is not said is as usual, and a token's number whole."""
    held = table[column]
    if column == "token":
        return held.map(lambda token: "" if pd.isna(token) else str(int(token)))
    return held.fillna(_USUAL.get(column, "")).map(str)  # a file's model 0 is "0"


def require_alike(table: pd.DataFrame) -> None:
    """Refuse rows whose scores came about in different ways; what is not said is as usual."""
    for name in HOW:
        if name not in table:
            continue
        unsaid = _USUAL.get(name)
        told = table[name] if unsaid is None else table[name].fillna(unsaid)
        held = told.dropna().unique().tolist()
        if table[name].notna().any() and len(held) > 1:
            raise InputError(
                f"the rows differ in {name} ({', '.join(map(str, held))}), so that their scores do "
                f"not compare: choose rows with one value of {name}, or measure them alike"
            )


def _mean(rows: pd.DataFrame, measure: Measure) -> dict[str, object]:
    first = rows.iloc[0]
    values = rows[measure].to_numpy(np.float64)
    there = np.isfinite(values)
    found = known_interval(values)
    # Checkpoints of a run share the id, and differ in revision and step.
    is_alone = np.isnan(first["step"])
    return {
        **{name: first[name] for name in ("model", "id", "family")},
        "run": first["model"] if is_alone else str(first["id"]).split("@")[0],
        "step": float(first["step"]),
        "trained": bool(first["trained"]),
        **{name: float(first.get(name, np.nan)) for name in (*MODEL_SIZES, *PERFORMANCES)},
        "training_tokens": float(first["training_tokens"]) or np.nan,
        "k": int(first["k"]),
        "coupling": found.mean,
        "low": found.low,
        "high": found.high,
        "chance": rows["chance"][there].mean() if measure == "coupling" else 0.0,
        "prompts": found.n,
        "without": len(values) - found.n,
    }
