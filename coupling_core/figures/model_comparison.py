"""Two models over the same prompts: how far they are apart at each."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.model_comparison import ModelComparison
from coupling_core.analysis.scores import MIN_NUMBERS, OF_FEW, Interval
from coupling_core.base.units import NO_CATEGORY, interval_told, rounded
from coupling_core.figures import style
from coupling_core.figures.over_prompts import prompt_strip


def prompt_differences(found: ModelComparison, by: str = "category") -> go.Figure:
    """The difference of two models at each prompt, in groups by the values of the column `by`."""
    table = found.by_prompt()
    first, second = found.names
    places = range(1, len(table) + 1)
    median = float(np.median(table.difference))
    figure = prompt_strip(
        dict(zip(places, table.difference.astype(float), strict=True)),
        dict(zip(places, map(str, table.prompt), strict=True)),
        Interval(found.difference, median, found.low, found.high, found.n),
        f"{first} minus {second}: {found.number}",
        origin={
            "title": f"{first} and {second}" + f" of {found.model}" * bool(found.model),
            "source": found.verdict,
        },
        levels={"no difference": 0},
        name="prompts of both",
        mean="mean difference",
        groups=dict(zip(places, (_named(of, by) for of in table.get(by, ())), strict=False)),
    )
    figure.layout.meta["caption"] += " ".join(["", *found.caveats]) + _of_groups(found, by)
    return figure


def _named(category: object, by: str) -> str:
    """What a group is called: a number with the name of its column; an empty cell is none."""
    if category != category or category in ("", None):
        return NO_CATEGORY
    if isinstance(category, Real) and not isinstance(category, bool):
        return f"{by} {category:g}"
    return str(category)


def _of_groups(found: ModelComparison, by: str) -> str:
    """What is sure of each group that has a colour, in a sentence."""
    groups = found.means_by(by).to_dict("records") if by in found.each else []
    if not 1 < len(groups) <= len(style.CATEGORIES):
        return ""
    means = [f"{_named(of[by], by)} {rounded(of['difference'], 3)} ({_sure(of)})" for of in groups]
    few = f" {OF_FEW[0].upper()}{OF_FEW[1:]}."
    return f" Of each alone: {'; '.join(means)}." + few * any(
        1 < of["n"] < MIN_NUMBERS for of in groups
    )


def _sure(of: Mapping[Any, Any]) -> str:
    if not np.isfinite(of["low"]):
        return f"no interval: n = {of['n']}"
    low, high = interval_told(of["low"], of["high"])
    return f"95\u00a0%: {low} to {high}, n = {of['n']}"
