"""What edits of a model's depth do: to pairs of blocks, block by block, and beside coupling."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.coupling_effect import CouplingEffect, PairEdit
from coupling_core.analysis.effect_study import EffectStudy
from coupling_core.analysis.effects import effect_maps
from coupling_core.base.curves import Curves
from coupling_core.base.edits import DAMPED
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.curves import COLORS, Series, curves
from coupling_core.figures.squares import Square
from coupling_core.figures.training import HEIGHT, place, step_axis

if TYPE_CHECKING:  # half a second to import
    from pandas import DataFrame

LEAST = 1e-6
"""Smaller effects are drawn as this: rounding alone makes some of 1e-10."""
UNEDITED = "a block in its own place: nothing is edited"
"""Why the diagonal has no colour."""
SIDE_TITLES: dict[PairEdit, tuple[str, str]] = {
    "interchange": ("Block l", "Block m"),
    "replace": ("Slot l", "Block m that runs there"),
}
_EACH_CELL: dict[PairEdit, str] = {
    "interchange": "Each cell: blocks l and m change places.",
    "replace": "Each cell: block m runs in the place of block l as well as in its own.",
}
_READ = (
    " Brighter cells change the output less; the scale is logarithmic. Blocks near one another are "
    "swapped more cheaply whatever their coupling: a likeness with a map of coupling says little "
    "before distance is accounted for."
)
_UNITS = {
    "states": "relative distance of the last states",
    "tokens": "KL(original || edited), nats a token",
    "classes": "KL(original || edited), nats",
}
"""Of effects, by what they are measured of."""
BY_BLOCK = Curves(
    y="{unit}",
    caption="Each block skipped, run twice, or with its residual map multiplied by a. Where a "
    "curve is low, the output hardly changes.",
    log=True,
    at="l = ",
    hover=".4g",
)
_DONE = {"interchange": "swapped", "replace": "replaced by one another"}
_LOOKS = {"rho": style.ACCENT, "distance alone": style.INK, "given distance": style.SECOND}
EFFECT_BY_STEP = Curves(
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


def effects(
    result: WhatIfResult,
    view: EffectView,
    edit: PairEdit = "interchange",
    *,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the effect of an edit of each pair of blocks, in powers of ten; what waits is grey."""
    values = getattr(effect_maps(result, view), edit).copy()
    np.fill_diagonal(values, np.nan)
    blocks = tuple(range(1, result.n_blocks + 1))
    square = Square(rows=blocks, columns=blocks, titles=SIDE_TITLES[edit])
    lacking = "cannot be run: each cell says why"
    if len(result.reasons) < 2:
        lacking = next(iter(result.reasons), "not measured yet")
    itself = np.eye(len(blocks), dtype=bool)
    why = np.select([itself, np.isnan(values)], [UNEDITED, lacking], "")
    texts = [_text(result, edit, values, pair) for pair in np.ndindex(values.shape)]
    known, told = values[np.isfinite(values)], "nothing measured yet"
    if known.size:
        median, low, high = np.median(known), known.min(), known.max()
        told = f"median {median:.3g}, {low:.3g} to {high:.3g} {result.unit}"
    return square.figure(
        f"Map of the effect of {edit} over pairs of blocks, {result.subject}: {told}.",
        _EACH_CELL[edit] + _READ,
        square.traces(_map(square, values, result, edit), why, texts),
        height=600,
        selected=selected,
    )


def effects_by_block(result: WhatIfResult, view: EffectView) -> go.Figure:
    """The effect of skipping, repeating and damping each block, of a result that may be partial."""
    found, blocks = effect_maps(result, view), np.arange(1, result.n_blocks + 1)
    damped = {f"damp, a = {a:g}": values for a, values in zip(DAMPED, found.damp, strict=True)}
    named = {"skip": found.skip, "repeat": found.repeat} | damped
    colors = (*COLORS[:4], *COLORS[6:])  # the others are too near those of the first two
    dashes = ("solid", "solid", "dot", "dash", "dashdot", "longdash")
    series = [
        Series(name, blocks, values, color, dash=dash)
        for (name, values), color, dash in zip(named.items(), colors, dashes, strict=False)
    ]
    spec = replace(BY_BLOCK, unit=f" {result.unit}")
    return curves(series, spec, result.subject, {"unit": _UNITS[result.measured_of]})


def exchange(result: WhatIfResult) -> go.Figure:
    """Predicted against true change of the state, a point for each pair of neighbours run."""
    lower, true, predicted, cosine = _medians(result)
    span = style.span(np.concatenate([true, predicted]))
    figure = style.new_figure(
        f"First-order prediction of swapping neighbours against the truth, {result.subject}: "
        + (f"median cosine {np.median(cosine):.2f}." if cosine.size else "no pair can be run."),
        "A point for each pair of neighbours: how much swapping the two changes the state behind "
        "them, relative to its norm, median over the tokens. On the dotted line the first order, "
        "which vanishes where two blocks commute, predicts the size of the change. Coupled blocks "
        "need not commute.",
        {"on_page": "The cosine under the mouse shows whether it predicts the direction too."},
        height=400,
        xaxis=style.axis("Predicted to first order") | style.log_axis(predicted),
        yaxis=style.axis("True relative change") | style.log_axis(true),
    )
    exact = style.line(span, span, "exact", line_dash="dot", hoverinfo="skip", showlegend=False)
    figure.add_trace(exact)
    colored = {"color": lower, "cmin": 1, "cmax": result.n_blocks, "colorscale": style.DEPTH}
    pairs = style.dots(
        predicted,
        true,
        "neighbours",
        {"size": 8, **colored},
        customdata=np.stack([lower, lower + 1, cosine], 1),
        showlegend=False,
        hovertemplate="blocks %{customdata[0]} and %{customdata[1]}<br>predicted %{x:.3g}, "
        "true %{y:.3g}<br>cosine %{customdata[2]:.3f}<extra></extra>",
    )
    return figure.add_trace(pairs)


def exchange_table(result: WhatIfResult) -> "DataFrame":
    """The same numbers: a row for each pair of neighbours."""
    from pandas import DataFrame

    return DataFrame(dict(zip(("l", "true", "predicted", "cosine"), _medians(result), strict=True)))


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
    series = [
        Series(
            name, place(steps), found[name.replace(" ", "_")].to_numpy(), color, marks=6, at=steps
        )
        for name, color in _LOOKS.items()
    ]
    given = series[-1]
    bars = style.bars(given.y, found["low"], found["high"], given.color, thickness=2, width=4)
    series[-1] = replace(given, more={"error_y": bars})
    return curves(
        series,
        EFFECT_BY_STEP,
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


def _medians(result: WhatIfResult) -> tuple[np.ndarray, ...]:
    """The l of pairs that were run; true and predicted change and their cosine, over the tokens."""
    named = (result.exchange_true, result.exchange_predicted, result.exchange_cosine)
    some = np.all([np.isfinite(values).any(1) for values in named], axis=0)
    return np.flatnonzero(some) + 1, *(np.nanmedian(values[some], axis=1) for values in named)


def _map(square: Square, values: np.ndarray, result: WhatIfResult, edit: PairEdit) -> go.Heatmap:
    z = np.log10(np.maximum(values, LEAST)).astype(np.float32)
    low, high = style.span(z)
    ticks = np.arange(np.floor(low), np.ceil(high) + 1)
    bar = {"tickvals": ticks, "ticktext": [f"{10.0**tick:g}" for tick in ticks]}
    name, unit = f"Effect of {edit}", _UNITS[result.measured_of]
    look = style.scale(low, high, style.SEQUENTIAL, name, unit, **bar)
    return square.heatmap(z, **look, reversescale=True, hoverinfo="skip", name="effects")


def _text(result: WhatIfResult, edit: PairEdit, values: np.ndarray, pair: tuple[int, ...]) -> str:
    slot, block = (at + 1 for at in pair)
    if slot == block:
        return f"Block {slot} where it is: nothing is edited"
    name = edit_name(edit, (slot, block))
    told = result.refused.get(name, "not measured yet")
    return f"{name}<br>" + (f"{values[pair]:.4g} {result.unit}" if values[pair] >= 0 else told)


def edit_name(edit: PairEdit, pair: tuple[int, int]) -> str:
    """How an edit of two blocks is spelled."""
    first, second = sorted(pair) if edit == "interchange" else pair
    return f"{edit}({first},{second})"
