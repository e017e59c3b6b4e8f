"""Two models over the same prompts: how far apart they are at each."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.model_comparison import ModelComparison
from coupling_core.analysis.scores import Interval
from coupling_core.base.units import NO_CATEGORY
from coupling_core.figures.over_prompts import prompt_strip


def _named(category: object) -> str:
    """What a category is called; an empty cell is none."""
    return str(category) if category == category and category not in ("", None) else NO_CATEGORY


def prompt_differences(found: ModelComparison, by: str = "category") -> go.Figure:
    """The difference of two models at each prompt: a dot a prompt, from the lowest up.

    Args:
        found: the comparison.
        by: the column of the prompts whose values have colours of their own, where it is there.

    Returns:
        a figure as `prompt_strip` gives it, with the shape "chance" where there is no difference.
    """
    table = found.by_prompt()
    first, second = found.names
    of = f" of {found.model}" if found.model else ""
    places = range(1, len(table) + 1)
    over = Interval(
        found.difference, float(np.median(table.difference)), found.low, found.high, found.n
    )
    return prompt_strip(
        dict(zip(places, table.difference.astype(float), strict=True)),
        dict(zip(places, map(str, table.prompt), strict=True)),
        over,
        f"{first} minus {second}: {found.number}",
        origin={"title": f"{first} and {second}{of}", "source": found.verdict},
        chance=0,
        zero="no difference",
        name="prompts of both",
        groups=dict(zip(places, map(_named, found.own.get(by, ())), strict=False)),
    )
