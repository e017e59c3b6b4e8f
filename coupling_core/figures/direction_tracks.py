"""One direction over depth: what each block does with it, and whose subspaces hold it."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from coupling_core.analysis.directions import held, track, track_chance
from coupling_core.base.records import resolve_block
from coupling_core.base.results import DirectionsResult
from coupling_core.base.results.directions import SIDES
from coupling_core.base.units import counted
from coupling_core.figures import style
from coupling_core.figures.words import subject

if TYPE_CHECKING:  # pandas takes half a second to import, and only tables need it
    from pandas import DataFrame

_SIDE_WORDS = {"u": "written", "v": "read"}


def direction_track(result: DirectionsResult, block: int, component: int) -> go.Figure:
    """What every block's Jacobian makes of one pair of directions: u_k . J^l v_k over l.

    Args:
        result: the directions.
        block: l', whose pair it is.
        component: k, 1..K.

    Raises:
        InputError: where the result has no such block or direction.
    """
    number = resolve_block(block, result.n_blocks)
    values, chance = track(result, number, component), track_chance(result)
    blocks = np.arange(1, result.n_blocks + 1)
    beyond = int((np.abs(np.delete(values, number - 1)) > np.delete(chance, number - 1)).sum())
    figure = style.new_figure(
        f"Gain of every block along direction {component} of block {number}, {subject(result)}: "
        f"beyond chance in {beyond} of {counted(result.n_blocks - 1, 'other block')}.",
        f"How much the Jacobian of each block l moves what block {number} reads along its "
        f"direction {component} towards what it writes there: u · J v, with k = {component}. "
        "Unrelated directions lie in the band 95 times of 100. In its own block the gain is the "
        "singular value.",
        height=340,
        xaxis={"title": {"text": "Block l (Jacobian)"}},
        yaxis=style.axis("Gain"),
    )
    figure.add_trace(style.band(blocks, -chance, chance, "by chance", listed=True))
    trace = style.line(blocks, values, f"direction {component}", style.ACCENT)
    figure.add_trace(trace.update(hovertemplate="l = %{x}: %{y:.3f}<extra></extra>"))
    own = [number], [values[number - 1]]
    figure.add_trace(
        go.Scatter(
            x=own[0], y=own[1], mode="markers", name=f"block {number} itself",
            marker={"color": style.ACCENT, "size": 9, "symbol": "circle-open"},
            hovertemplate="its own block: %{y:.3f}<extra></extra>",
        )
    )  # fmt: skip
    return figure


def direction_elsewhere(result: DirectionsResult, block: int, component: int) -> go.Figure:
    """How much of a block's pair of directions lies in the subspaces of every block.

    Args:
        result: the directions.
        block: whose pair it is.
        component: k, 1..K.

    Raises:
        InputError: where the result has no such block or direction.
    """
    number = resolve_block(block, result.n_blocks)
    blocks = np.arange(1, result.n_blocks + 1)
    by_chance = float(np.sqrt(result.count / result.width))
    figure = style.new_figure(
        f"How much of direction {component} of block {number} the leading {result.count} "
        f"directions of every block hold, {subject(result)}.",
        f"The length of the direction's shadow in the span of a block's {result.count} leading "
        f"directions: 1 lies in it, and {by_chance:.2f} is what a random direction leaves.",
        height=340,
        xaxis={"title": {"text": "Block"}},
        yaxis=style.axis("Part of the direction") | {"range": [0, 1.02]},
    )
    for side, color in zip(SIDES, (style.ACCENT, style.SECOND), strict=True):
        values = _held(result, number, component, side)
        trace = style.line(blocks, values, _SIDE_WORDS[side], color)
        figure.add_trace(trace.update(hovertemplate="block %{x}: %{y:.2f}"))
    chance = np.full(len(blocks), by_chance)
    name = "a random direction"
    figure.add_trace(style.line(blocks, chance, name, style.INK, 1, line_dash="dot"))
    return figure


def direction_table(result: DirectionsResult, block: int, component: int) -> "DataFrame":
    """A row a block: the gain along the pair with its chance, and how much of each is held."""
    from pandas import DataFrame

    number = resolve_block(block, result.n_blocks)
    return DataFrame(
        {
            "block": np.arange(1, result.n_blocks + 1),
            "gain": track(result, number, component),
            "gain_by_chance": track_chance(result),
            **{
                f"{_SIDE_WORDS[side]}_held": _held(result, number, component, side)
                for side in SIDES
            },
            "held_by_chance": np.sqrt(result.count / result.width),
        }
    )


def _held(result: DirectionsResult, block: int, component: int, side: str) -> np.ndarray:
    return held(result, result.basis(block, side)[:, component - 1], side)
