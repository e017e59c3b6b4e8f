"""What edits of a model's depth do: maps over pairs of blocks, and curves block by block."""

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.coupling_effect import PairEdit
from coupling_core.analysis.effects import effect_maps
from coupling_core.base.edits import DAMPED
from coupling_core.base.records import EffectView
from coupling_core.base.results import WhatIfResult
from coupling_core.figures import style
from coupling_core.figures.squares import Square
from coupling_core.figures.words import subject

LEAST = 1e-6
"""Smaller effects are drawn as this: rounding alone makes some of 1e-10."""
UNEDITED = "a block in its own place: nothing is edited"
"""Why the diagonal has no colour."""
SIDE_TITLES: dict[PairEdit, tuple[str, str]] = {
    "interchange": ("Block l", "Block m"),
    "replace": ("Slot l", "Block m that runs there"),
}


def effects(
    result: WhatIfResult,
    view: EffectView,
    edit: PairEdit = "interchange",
    *,
    selected: tuple[int, int] | None = None,
) -> go.Figure:
    """Map of the effect of an edit of each pair of blocks, in powers of ten.

    Args:
        result: may be partial; cells that wait, or cannot be run, are grey.
        view: over which tokens the effect is averaged.
        edit: which edit.
        selected: the pair (l, m) to outline.

    Returns:
        a figure whose first trace is the map and whose trace "pairs" takes clicks, with
        customdata [l, m]. The diagonal, where nothing is edited, is grey as on maps of scores.
    """
    values = getattr(effect_maps(result, view), edit).copy()
    np.fill_diagonal(values, np.nan)
    blocks = tuple(range(1, result.n_blocks + 1))
    square = Square(rows=blocks, columns=blocks, titles=SIDE_TITLES[edit])
    why = np.select(
        [np.eye(len(blocks), dtype=bool), np.isnan(values)], [UNEDITED, _why_grey(result)], ""
    )
    texts = [_text(result, edit, values, pair) for pair in np.ndindex(values.shape)]
    return square.figure(
        _alt(result, values, edit),
        _caption(result, edit),
        square.traces(_map(square, values, result, edit), why, texts),
        height=600,
        selected=selected,
    )


def effects_by_block(result: WhatIfResult, view: EffectView) -> go.Figure:
    """The effect of skipping, repeating and damping each block.

    Args:
        result: may be partial.
        view: over which tokens the effect is averaged.

    Returns:
        a figure with the traces "skip", "repeat", and one for each factor of damping.
    """
    found = effect_maps(result, view)
    curves = {"skip": found.skip, "repeat": found.repeat}
    curves |= {f"damp, a = {a:g}": values for a, values in zip(DAMPED, found.damp, strict=True)}
    of_damping = (style.INK, style.CATEGORIES[0], *style.CATEGORIES[3:])[: len(DAMPED)]
    colors = (style.ACCENT, style.SECOND, *of_damping)
    figure = style.new_figure(
        f"Effect of editing each block by itself, {subject(result)}.",
        "Each block skipped, run twice, or with its residual map multiplied by a. Where a curve is "
        "low, the model says nearly what it said.",
        height=400,
        xaxis={"title": {"text": "Block l"}},
        yaxis=style.axis(_unit(result)) | style.log_axis(np.concatenate(list(curves.values()))),
    )
    blocks = np.arange(1, result.n_blocks + 1)
    dashes = ("solid", "solid", *("dot", "dash", "dashdot", "longdash")[: len(DAMPED)])
    drawn = zip(curves.items(), colors, dashes, strict=True)
    for at, ((name, values), color, dash) in enumerate(drawn):
        text = f"{name}<br>l = %{{x}}: %{{y:.4g}} {result.unit}<extra></extra>"
        figure.add_trace(
            style.line(
                blocks, values, name, color, uid=f"effect{at}", line_dash=dash, showlegend=True,
                hovertemplate=text,
            )
        )  # fmt: skip
    return figure


def _map(square: Square, values: np.ndarray, result: WhatIfResult, edit: PairEdit) -> go.Heatmap:
    z = np.log10(np.maximum(values, LEAST)).astype(np.float32)
    low, high = style.span(z)
    ticks = np.arange(np.floor(low), np.ceil(high) + 1)
    return square.heatmap(
        z,
        zmin=low,
        zmax=high,
        colorscale=style.SEQUENTIAL,
        reversescale=True,
        colorbar=style.color_bar(
            f"Effect of {edit}",
            _unit(result),
            tickvals=ticks,
            ticktext=[f"{10.0**tick:g}" for tick in ticks],
        ),
        hoverinfo="skip",
        name="effects",
    )


def _why_grey(result: WhatIfResult) -> str:
    if not result.reasons:
        return "not measured yet"
    return result.reasons[0] if len(result.reasons) == 1 else "cannot be run: each cell says why"


def _unit(result: WhatIfResult) -> str:
    if result.measured_of == "states":
        return "relative distance of the last states"
    return "KL(original || edited), nats" + " a token" * (result.measured_of == "tokens")


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


def _alt(result: WhatIfResult, values: np.ndarray, edit: PairEdit) -> str:
    known = values[np.isfinite(values)]
    told = "nothing measured yet"
    if known.size:
        low, high = known.min(), known.max()
        told = f"median {np.median(known):.3g}, {low:.3g} to {high:.3g} {result.unit}"
    return f"Map of the effect of {edit} over pairs of blocks, {subject(result)}: {told}."


def _caption(result: WhatIfResult, edit: PairEdit) -> str:
    what = {
        "interchange": "Each cell: blocks l and m change places.",
        "replace": "Each cell: block m runs in the place of block l as well as in its own.",
    }[edit]
    return (
        f"{what} Brighter cells change less what the model says; the scale is logarithmic. Blocks "
        "that lie near one another are exchanged more cheaply whatever their coupling, so that a "
        "likeness with a map of coupling says little before distance is accounted for."
    )
