"""Coupling against the effect of an edit: over the pairs of one model, and by training step."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.coupling_effect import CouplingEffect, PairEdit
from coupling_core.analysis.effect_study import EffectStudy
from coupling_core.base.curves import Curves
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import Series, curves
from coupling_core.figures.training import HEIGHT, place, step_axis

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

_DONE = {"interchange": "swapped", "replace": "replaced by one another"}
_LOOKS = {"rho": style.ACCENT, "distance alone": style.INK, "given distance": style.SECOND}
BY_STEP = Curves(
    x="step",
    y="Spearman's rho",
    caption="Rank correlation over the pairs of blocks of {title}, mean over {prompts}. Bars: "
    "95\u00a0% intervals over prompts. A model of few blocks has few pairs, and one training run "
    "is no sample of training runs.",
    y_range=(-1.05, 1.05),
    at="step ",
    hover=".2f",
    height=HEIGHT,
)


def coupling_against_effect(found: CouplingEffect, title: str = "") -> go.Figure:
    """A point for each pair of blocks, coloured by how far apart it is, of a model's title."""
    apart = found.other - found.block
    order, title = np.argsort(-apart), title or found.whose
    done, over = _DONE[found.edit], f"mean over {counted(found.prompts, 'prompt')}"
    figure = style.new_figure(
        f"Coupling of {found.pairs} pairs of blocks against the effect of having them {done}"
        f"{f', {title}' * bool(title)}, {over}.",
        f"A point for each pair of blocks, {over} and both directions. "
        f"Higher: less changes when the two are {done}. The colour is their distance. A "
        "rise within one colour is what distance does not explain.",
        {"title": title, "source": title},
        height=440,
        margin_t=80,
        xaxis=style.axis("Coupling, chance-corrected (no unit)"),
        yaxis=style.axis("-log KL (KL in nats)"),
    )
    marker = {"size": 6, "color": apart[order], "colorscale": style.SEQUENTIAL}
    bar = style.color_bar("Distance |l - l'|", "blocks")
    return figure.add_scatter(
        x=found.coupling[order],
        y=found.smallness[order],
        mode="markers",
        marker=marker | {"reversescale": True, "colorbar": bar},
        customdata=np.stack([found.block, found.other, apart], 1)[order],
        name="pairs",
        showlegend=False,
        hovertemplate="blocks %{customdata[0]} and %{customdata[1]}, "
        "%{customdata[2]} apart<br>coupling %{x:.3f}<br>-log KL %{y:.2f}<extra></extra>",
    )


def effect_by_step(studies: Mapping[int, EffectStudy], edit: PairEdit, title: str) -> go.Figure:
    """The rank correlations of coupling and effect by training step, of a run of this title."""
    found, steps = effect_by_step_table(studies, edit), np.array(sorted(studies))
    numbers = {name: found[name].to_numpy() for name in found}
    series = [
        Series(name, place(steps), numbers[name.replace(" ", "_")], color, marks=6, at=steps)
        for name, color in _LOOKS.items()
    ]
    rho, low, high = (numbers[name] for name in ("given_distance", "low", "high"))
    bars = {"type": "data", "symmetric": False, "array": high - rho, "arrayminus": rho - low}
    series[-1] = replace(series[-1], more={"error_y": bars})
    return curves(
        series,
        BY_STEP,
        f"coupling and the smallness of the effect of {edit}, {title}",
        {"title": title, "prompts": counted(len(studies[steps[0]].prompts), "prompt")},
        xaxis=step_axis(steps.tolist()),
        told={"source": title},
    )


def effect_by_step_table(studies: Mapping[int, EffectStudy], edit: PairEdit) -> "DataFrame":
    """The correlations by step."""
    from pandas import DataFrame

    found = [studies[step].correlated(edit) for step in sorted(studies)]
    return DataFrame(
        {
            "step": sorted(studies),
            "rho": [one.raw.rho for one in found],
            "distance_alone": [one.distance.rho for one in found],
            "given_distance": [one.partial.rho for one in found],
            "low": [one.partial.low for one in found],
            "high": [one.partial.high for one in found],
            "mantel_p": [one.mantel_p for one in found],
            "partial_mantel_p": [one.partial_mantel_p for one in found],
        }
    )
