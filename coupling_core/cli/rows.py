"""One row a prompt, and what all rows together come to: means, a table, arrays, JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling_core.analysis.directions import viewed
from coupling_core.analysis.exports.naming import facts
from coupling_core.analysis.scores import Interval, known_interval
from coupling_core.base.errors import ComputeError, InputError
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import OF_BLOCKS, AnyView, DirectionsView, View
from coupling_core.base.results import DirectionsResult, Result, TokensResult
from coupling_core.base.units import NO_CATEGORY, ranges
from coupling_core.sources.prompts import Prompt, own_cells, own_columns, set_own

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

Axes = tuple[str, ...]
"""Names of the axes of an array."""
Failed = dict[int, InputError | ComputeError]
"""Errors by the line of the prompt."""


@dataclass(frozen=True)
class Row:
    """One prompt's part in a table.

    In `whose` is which model, what was measured, and how that is looked at; in `of_model` what else
    tables say of a model. The `cost` is seconds of computing and of loading the model, 0 where
    nothing was, and `certified` is None where there was no SVD.
    """

    prompt: Prompt
    key: str
    stored: bool
    mean: dict[str, float]
    whose: dict[str, str | float]
    certified: bool | None
    final_norm: str
    cost: dict[str, float]
    of_model: dict[str, bool | int]

    @classmethod
    def of(
        cls,
        prompt: Prompt,
        result: Result,
        mean: dict[str, float],
        view: AnyView,
        *,
        stored: bool,
        chosen: Mapping[str, str | float] | None = None,
    ) -> "Row":
        """What a result says of its prompt, where it is looked at so, and `chosen` besides."""
        asked, made = result.request, result.provenance
        whose = facts(result, view) | {"kind": asked.kind} | _chosen(result, view)
        whose |= {"token": asked.token} if kind_of(asked.kind).token else {}
        del whose["prompt"]
        is_trained, depth = asked.untrained is None, result.n_blocks
        return cls(
            prompt,
            result.key,
            stored,
            mean,
            whose | dict(chosen or {}),
            result.certified if result.svds else None,
            result.final_norm_words,
            {name: 0.0 if stored else float(made[name]) for name in ("seconds", "load_seconds")},
            {"trained": is_trained, "layers": depth, "width": result.width},
        )

    @property
    def fields(self) -> dict[str, Any]:
        """What the prompt's file says of it beside its text."""
        own = {"category": self.prompt.category or None, "difficulty": self.prompt.difficulty}
        return {k: v for k, v in own.items() if v is not None} | dict(self.prompt.fields)


def _chosen(result: Result, view: AnyView) -> dict[str, str | float]:
    """The blocks that are looked at, where not all are, and how many directions of each."""
    told: dict[str, str | float] = {}
    if isinstance(view, View | DirectionsView) and view.blocks is not None:
        told = {OF_BLOCKS: ranges(view.blocks)} if len(view.blocks) < result.n_blocks else {}
    if isinstance(view, DirectionsView) and isinstance(result, DirectionsResult):
        told["K"] = viewed(result, view)[1]
    if isinstance(result, TokensResult):
        told[OF_BLOCKS] = " and ".join(map(str, dict.fromkeys(result.blocks)))
    return told


def over_prompts(rows: Sequence[Row]) -> dict[str, Interval]:
    """The mean of each number over prompts, with its interval."""
    names = rows[0].mean
    return {name: known_interval(np.array([row.mean[name] for row in rows])) for name in names}


def mean_of_each(over: Mapping[str, Interval]) -> str:
    """Why means of c and of its floor lie otherwise than the corrected one; "" if they do not."""
    if not {"coupling", "chance", "corrected"} <= over.keys():
        return ""
    apart = over["coupling"].mean - over["chance"].mean
    if not apart * over["corrected"].mean < 0:
        return ""
    return (
        "the mean of c is on the other side of its floors' mean than the corrected score is of 0: "
        "each pair is corrected by a floor of its own, and pairs with a low floor count for more"
    )


def of_categories(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each category, where there are several; those without one are one group."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.prompt.category or NO_CATEGORY, []).append(row)
    return found if len(found) > 1 else {}


def by_category(rows: Sequence[Row]) -> dict[str, dict[str, Interval]]:
    """The mean of each number over the prompts of each category, where there are several."""
    return {category: over_prompts(of) for category, of in of_categories(rows).items()}


def alike(rows: Sequence[Row]) -> dict[str, str | float]:
    """Which model, what was measured and how that is looked at: what is the same of all prompts."""
    first, others = rows[0].whose, [row.whose for row in rows[1:]]
    found = {name: one for name, one in first.items() if all(of.get(name) == one for of in others)}
    if "measured" not in found:  # what stands before a token's own number or text
        parts = [str(row.whose["measured"]).split(", ") for row in rows]
        same = takewhile(lambda each: len(set(each)) == 1, zip(*parts, strict=False))
        if told := ", ".join(each[0] for each in same):
            found["measured"] = told
    return found


def frame(rows: Sequence[Row]) -> "DataFrame":
    """A row a prompt: its line and text, the columns of its file, its means, whose they are.

    It has the columns by which `means_by` keeps rows apart. One of the file that is named as one of
    ours has `prompt_` before it.
    """
    from pandas import DataFrame

    ours = ("line", "prompt", *rows[0].mean, *_kept_apart(rows[0]), "certified", "key")
    own = own_columns([row.fields for row in rows], ours)
    told = [
        {"line": row.prompt.row, "prompt": row.prompt.words}
        | own_cells(row.fields, own)
        | row.mean
        | _kept_apart(row)
        | {"certified": row.certified, "key": row.key}
        for row in rows
    ]
    table = DataFrame(told)
    set_own(table, own.values(), told)
    return table


def _kept_apart(row: Row) -> dict[str, str | float]:
    """Whose a row is, with the kind and K under the names that tables of many prompts have."""
    whose = dict(row.whose)
    named = {"model": whose.pop("model"), **row.of_model, "kind": whose.pop("kind")}
    return named | {"k": whose.pop("K", float("nan"))} | whose


def arrays(rows: Sequence[Row]) -> dict[str, tuple[Axes, np.ndarray]]:
    """Which prompts they are and their numbers, by name, with the names of their axes."""
    listed: dict[str, list[Any]] = {
        "line": [row.prompt.row for row in rows],
        "prompt": [row.prompt.words for row in rows],
        "category": [row.prompt.category for row in rows],
        **{name: [row.mean[name] for row in rows] for name in rows[0].mean},
    }
    if not any(listed["category"]):
        del listed["category"]
    return {name: (("prompt",), np.array(values)) for name, values in listed.items()}


def summary(rows: Sequence[Row], failed: Failed) -> dict[str, Any]:
    """What was measured and what was not, ready for JSON."""
    return {
        "n": len(rows),
        "measured": alike(rows),
        **{name: sum(row.cost[name] for row in rows) for name in rows[0].cost},
        "stored": all(row.stored for row in rows),
        "key": [row.key for row in rows],
        "prompts": [
            {"line": row.prompt.row, "prompt": row.prompt.words}
            | {name: getattr(row, name) for name in ("key", "stored", "certified", "mean")}
            | ({"fields": row.fields} if row.fields else {})
            for row in rows
        ],
        "failed": [{"line": line, "error": str(error)} for line, error in sorted(failed.items())],
        "over_prompts": over_prompts(rows),
        "by_category": by_category(rows),
    }
