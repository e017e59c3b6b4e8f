"""Two models over the same prompts: how far they are apart at each."""

from numbers import Real

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.model_comparison import ModelComparison
from coupling_core.analysis.scores import Interval
from coupling_core.base.units import NO_CATEGORY
from coupling_core.figures.over_prompts import prompt_strip


def prompt_differences(found: ModelComparison, by: str = "category") -> go.Figure:
    """The difference of two models at each prompt, in groups by the values of the column `by`."""
    table = found.each
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
        groups=dict(zip(places, (_named(of, by) for of in table.get(by, ())), strict=False)),
    )
    figure.layout.meta["caption"] += " ".join(["", *found.caveats])
    return figure


def _named(category: object, by: str) -> str:
    """What a group is called: a number with the name of its column; an empty cell is none."""
    if category != category or category in ("", None):
        return NO_CATEGORY
    if isinstance(category, Real) and not isinstance(category, bool):
        return f"{by} {category:g}"
    return str(category)
